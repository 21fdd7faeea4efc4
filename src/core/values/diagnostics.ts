/** A finding of `parley doctor`. */
export interface Diagnostic {
  /** `warning`: works, but not for everything or not for long. `problem`: does not work. */
  readonly state: 'ok' | 'warning' | 'problem';
  /** The thing examined, in a few words: `hearing`, `free space`. */
  readonly subject: string;
  /** The finding, in a sentence. */
  readonly found: string;
  /** The next step for the operator, if there is something to do. */
  readonly advice?: string;
}

export function ok(subject: string, found: string): Diagnostic {
  return { state: 'ok', subject, found };
}

export function warning(subject: string, found: string, advice: string): Diagnostic {
  return { state: 'warning', subject, found, advice };
}

export function problem(subject: string, found: string, advice: string): Diagnostic {
  return { state: 'problem', subject, found, advice };
}

/** @param advice for what is not ok */
export function graded(
  state: Diagnostic['state'],
  subject: string,
  found: string,
  advice: string,
): Diagnostic {
  return state === 'ok' ? ok(subject, found) : { state, subject, found, advice };
}
