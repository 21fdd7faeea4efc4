/** What an examination has found out about one thing. */
export interface Diagnostic {
  /** `warning`: it works, but not for all or not for long. `problem`: something does not work. */
  readonly state: 'ok' | 'warning' | 'problem';
  /** What was looked at, in a few words: `pocketsphinx`, `free space`. */
  readonly subject: string;
  /** What was found, in a whole sentence. */
  readonly found: string;
  /** What to do about it. Nothing where all is well. */
  readonly advice: string | undefined;
}

export function ok(subject: string, found: string): Diagnostic {
  return { state: 'ok', subject, found, advice: undefined };
}

export function warning(subject: string, found: string, advice: string): Diagnostic {
  return { state: 'warning', subject, found, advice };
}

export function problem(subject: string, found: string, advice: string): Diagnostic {
  return { state: 'problem', subject, found, advice };
}
