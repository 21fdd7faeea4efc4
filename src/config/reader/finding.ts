import { type Source, sourceText } from './source.ts';

/** One thing that is wrong with the configuration. */
export interface Finding {
  readonly source: Source;
  /** The path of the setting, such as `server.port`. Empty where it is not about one. */
  readonly setting: string;
  /** What is wrong and what is allowed, in whole sentences. */
  readonly message: string;
  /** What was probably meant. It stands in the text of the finding as "Did you mean …?". */
  readonly suggestion?: string | undefined;
  /** What to do, in a whole sentence, where the place of the finding does not tell it. */
  readonly advice?: string | undefined;
}

/** The configuration cannot be used. The message lists every finding, a line each. */
export class ConfigError extends Error {
  readonly findings: readonly Finding[];

  constructor(findings: readonly Finding[]) {
    const ordered = [...new Map(findings.map((finding) => [findingText(finding), finding])).values()].sort(
      inOrder,
    );
    const count = ordered.length === 1 ? '1 problem' : `${ordered.length} problems`;
    super(
      `The configuration has ${count}:\n${ordered.map((finding) => `  ${findingText(finding)}`).join('\n')}`,
    );
    this.name = 'ConfigError';
    this.findings = ordered;
  }
}

/** A finding in one line: `parley.yaml:3:3: … Did you mean `port`?` */
export function findingText(finding: Finding): string {
  const suggestion = finding.suggestion === undefined ? '' : ` Did you mean \`${finding.suggestion}\`?`;
  const advice = finding.advice === undefined ? '' : ` ${finding.advice}`;
  return `${sourceText(finding.source)}: ${finding.message}${suggestion}${advice}`;
}

const kindOrder = { file: 0, variable: 1, flag: 2, default: 3 } as const;

/** The file from top to bottom first, then the rest as they were found. */
function inOrder({ source: a }: Finding, { source: b }: Finding): number {
  if (a.kind === 'file' && b.kind === 'file') return a.line - b.line || a.column - b.column;
  return kindOrder[a.kind] - kindOrder[b.kind];
}
