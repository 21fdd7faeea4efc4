/** The place that set a value. Lines and columns count from 1. */
export type Source =
  | { readonly kind: 'default' }
  | { readonly kind: 'file'; readonly file: string; readonly line: number; readonly column: number }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'flag'; readonly name: string };

/** A source in words: `parley.yaml:3:9`, `PARLEY_PORT`, `--port` or `default`. */
export function sourceText(source: Source): string {
  if (source.kind === 'file') return `${source.file}:${source.line}:${source.column}`;
  return source.kind === 'default' ? 'default' : source.name;
}

/** A problem in the configuration. */
export interface Finding {
  readonly source: Source;
  /** The path of the setting, such as `server.port`. Empty if the finding concerns no single setting. */
  readonly setting: string;
  /** Names the problem and the allowed values, in whole sentences. */
  readonly message: string;
  /** The likely correction. `findingText` shows it as "Did you mean …?". */
  readonly suggestion?: string | undefined;
  /** The next step, in a whole sentence, if the message does not imply it. */
  readonly advice?: string | undefined;
}

/** The configuration is invalid. The message lists every finding, one a line. */
export class ConfigError extends Error {
  /** The file from top to bottom, then variables, then flags. */
  readonly findings: readonly Finding[];

  constructor(findings: readonly Finding[]) {
    const byText = new Map(findings.map((finding) => [findingText(finding), finding]));
    const ordered = [...byText].sort(([, one], [, other]) => compareSources(one.source, other.source));
    const count = ordered.length === 1 ? '1 problem' : `${ordered.length} problems`;
    super(`The configuration has ${count}:\n${ordered.map(([text]) => `  ${text}`).join('\n')}`);
    this.name = 'ConfigError';
    this.findings = ordered.map(([, finding]) => finding);
  }
}

/** A finding in one line: `parley.yaml:3:3: … Did you mean `port`?` */
export function findingText(finding: Finding): string {
  return `${sourceText(finding.source)}: ${findingWords(finding)}`;
}

/** A finding without its place. */
export function findingWords({ message, suggestion, advice }: Finding): string {
  const question = suggestion && `Did you mean \`${suggestion}\`?`;
  return [message, question, advice].filter(Boolean).join(' ');
}

const kindOrder = { file: 0, variable: 1, flag: 2, default: 3 } as const;

function compareSources(one: Source, other: Source): number {
  if (one.kind === 'file' && other.kind === 'file') return one.line - other.line || one.column - other.column;
  return kindOrder[one.kind] - kindOrder[other.kind];
}
