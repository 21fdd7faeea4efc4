/** Patterns of model ids, in which `*` stands for any characters. */

const compiled = new WeakMap<readonly string[], readonly RegExp[]>();

export function matchesModel(patterns: readonly string[], model: string): boolean {
  let tests = compiled.get(patterns);
  if (tests === undefined) {
    tests = patterns.map(toTest);
    compiled.set(patterns, tests);
  }
  return tests.some((test) => test.test(model));
}

/**
 * Whether a pattern matches no more than others do. A pattern with several `*` counts as covered only by an equal one or by one whose
 * fixed parts it contains, so this may say no where the truth is yes, never the reverse.
 */
export function coversPattern(patterns: readonly string[], wanted: string): boolean {
  // A pattern is a text in which each `*` could be anything: whatever matches the text with its stars matches the pattern's texts.
  return patterns.some((pattern) => pattern === wanted || toTest(pattern).test(wanted));
}

function toTest(pattern: string): RegExp {
  // Runs of stars are one star: otherwise matching could take long.
  const parts = pattern.split(/\*+/).map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^]*')}$`);
}
