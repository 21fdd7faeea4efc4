/** Time limits of a session, and the interval at which its key is checked. */
import type { Turns } from '../access/call.ts';
import { ParleyError, toParleyError } from '../values/errors.ts';

export interface SessionLimits {
  /** A session ends after this time without a message. */
  readonly idleMsMax: number;
  readonly sessionMsMax: number;
  /** Interval at which the key is authenticated again, also in silence. */
  readonly checkEveryMs: number;
}

export const sessionLimits: SessionLimits = {
  idleMsMax: 5 * 60_000,
  sessionMsMax: 60 * 60_000,
  checkEveryMs: 10_000,
};

interface TimedSession {
  end(reason: ParleyError): void;
  /** Called if the key may not go on. */
  refuse(error: ParleyError): void;
}

export class SessionTimers {
  readonly #session: TimedSession;
  readonly #turns: Turns;
  readonly #idle: NodeJS.Timeout;
  readonly #all: NodeJS.Timeout[];
  #closing: ParleyError | undefined;

  constructor({ idleMsMax, sessionMsMax, checkEveryMs }: SessionLimits, turns: Turns, session: TimedSession) {
    this.#turns = turns;
    this.#session = session;
    const endWith = (message: string) => () => session.end(new ParleyError('overloaded', { message }));
    const idle = `No message came for ${idleMsMax / 60_000} minutes, so the session was ended. Open another one.`;
    const old = `A session lasts at most ${sessionMsMax / 60_000} minutes. Open another one.`;
    this.#idle = setTimeout(endWith(idle), idleMsMax);
    this.#all = [
      this.#idle,
      setTimeout(endWith(old), sessionMsMax),
      setInterval(() => void this.#check(), checkEveryMs),
    ];
  }

  /** Call for each message of the client. */
  noteMessage(): void {
    this.#idle.refresh();
  }

  /** Ends a session that closes, even if the rest of its reserved audio never comes. The first call counts. */
  endWithin(ms: number, reason: ParleyError): void {
    if (this.#closing === undefined) this.#all.push(setTimeout(() => this.#session.end(reason), ms));
    this.#closing ??= reason;
  }

  stop(): void {
    for (const timer of this.#all) clearTimeout(timer);
  }

  /** A revoked key or an ended plan ends the session. A database that does not answer does not. */
  async #check(): Promise<void> {
    try {
      await this.#turns.checkAgain();
    } catch (thrown) {
      const error = toParleyError(thrown);
      if (error.isRefusal) this.#session.refuse(error);
    }
  }
}
