/** Where the value of a setting came from. Lines and columns count from 1. */
export type Source =
  | { readonly kind: 'default' }
  | { readonly kind: 'file'; readonly file: string; readonly line: number; readonly column: number }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'flag'; readonly name: string };

export const defaultSource: Source = { kind: 'default' };

/** Names a source for people: `parley.yaml:3:9`, `PARLEY_PORT`, `--port` or `default`. */
export function sourceText(source: Source): string {
  switch (source.kind) {
    case 'default':
      return 'default';
    case 'file':
      return `${source.file}:${source.line}:${source.column}`;
    case 'variable':
    case 'flag':
      return source.name;
  }
}
