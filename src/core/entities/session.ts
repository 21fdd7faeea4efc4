/** A session of the console that was ended before its time. */
export interface EndedSession {
  /** The id of its key. */
  readonly owner: string;
  /** The id of the session. */
  readonly session: string;
  /** The session is over from then on. */
  readonly untilMs: number;
}

/** Sessions of a key that are ended and not yet over, at most. */
export const endedSessionsMax = 1_000;

/** Sessions that were ended before their time. */
export interface SessionStore {
  /** Ends a session on every server. False, and no change, if the key has ended `endedSessionsMax` others. */
  end(session: EndedSession, nowMs: number): Promise<boolean>;
  isEnded(session: Omit<EndedSession, 'untilMs'>): Promise<boolean>;
}
