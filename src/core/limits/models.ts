/**
 * Patterns of model ids, in which `*` stands for any characters. Patterns come from users, so none is compiled to a
 * regular expression.
 */

export function matchesModel(patterns: readonly string[], model: string): boolean {
  return patterns.some((pattern) => matches(pattern, model));
}

/**
 * Whether a pattern matches no more than others do. A pattern with several `*` counts as covered only by an equal one
 * or by one whose fixed parts it contains. So the answer may be a wrong no, but never a wrong yes.
 */
export function coversPattern(patterns: readonly string[], wanted: string): boolean {
  // Matches the text of the pattern itself, in which each `*` could be any characters.
  return patterns.some((pattern) => pattern === wanted || matches(pattern, wanted));
}

/** Takes each fixed part at its first place after the previous part, as a later place can only leave less room. */
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
