/** Patterns of model ids, in which `*` stands for any characters. Patterns come from users: none becomes an expression. */

export function matchesModel(patterns: readonly string[], model: string): boolean {
  return patterns.some((pattern) => matches(pattern, model));
}

/**
 * Whether a pattern matches no more than others do. A pattern with several `*` counts as covered only by an equal one or by one whose
 * fixed parts it contains, so this may say no where the truth is yes, never the reverse.
 */
export function coversPattern(patterns: readonly string[], wanted: string): boolean {
  // A pattern is a text in which each `*` could be anything: whatever matches the text with its stars matches the pattern's texts.
  return patterns.some((pattern) => pattern === wanted || matches(pattern, wanted));
}

/** Takes each fixed part at its first place after the one before: a later place could leave only less room. */
function matches(pattern: string, text: string): boolean {
  const [start = '', ...parts] = pattern.split('*');
  const end = parts.pop();
  if (end === undefined) return pattern === text;
  if (!text.startsWith(start) || !text.endsWith(end)) return false;
  let at = start.length;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at + end.length <= text.length;
}
