/** A JSON value as Python writes it. */
export function pythonLiteral(value: unknown, indent = ''): string {
  const inner = `${indent}    `;
  const block = (open: string, lines: readonly string[], close: string) =>
    lines.length === 0
      ? open + close
      : `${open}\n${lines.map((line) => `${inner}${line},\n`).join('')}${indent}${close}`;
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value))
    return block(
      '[',
      value.map((one) => pythonLiteral(one, inner)),
      ']',
    );
  if (typeof value === 'object') {
    const lines = Object.entries(value).map(
      ([name, one]) => `${JSON.stringify(name)}: ${pythonLiteral(one, inner)}`,
    );
    return block('{', lines, '}');
  }
  return JSON.stringify(value);
}
