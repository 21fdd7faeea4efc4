/** A session of the console that was ended early. */
export interface EndedSession {
  /** The id of its key. */
  readonly owner: string;
  readonly session: string;
  /** The normal end of the session. */
  readonly untilMs: number;
}

/** Maximum number of stored ended sessions of a key. */
export const endedSessionsMax = 1_000;

/** Sessions that were ended early. */
export interface SessionStore {
  /** Ends a session on every server. False, and no change, if the key has ended `endedSessionsMax` others. */
  end(session: EndedSession, nowMs: number): Promise<boolean>;
  isEnded(session: Omit<EndedSession, 'untilMs'>): Promise<boolean>;
}
