/**
 * Sessions of the console. A session is a key, sealed in a cookie that every node can open. Only sessions ended by a
 * sign-out are stored.
 */
import { randomBytes } from 'node:crypto';
import type { Key, KeyHolder } from '../entities/key.ts';
import { endedSessionsMax } from '../entities/session.ts';
import type { Store } from '../entities/store.ts';
import type { Clock } from '../values/clock.ts';
import { ParleyError } from '../values/errors.ts';
import { seal, unseal } from './sealed.ts';

/** A session ends this long after its last request. */
export const sessionIdleMs = 30 * 60_000;
/** A session ends this long after its sign-in, even if in use. */
export const sessionMsMax = 12 * 3_600_000;
/** A request this long after the last renewal renews the session. */
const renewAfterMs = 5 * 60_000;

const purpose = 'parley console session';
const idBytes = 12;
/** Longer cookies are not sessions. */
const tokenCharactersMax = 1_000;

export interface SessionDeps {
  readonly store: Pick<Store, 'keys' | 'sessions'>;
  readonly accessClock: Clock;
  readonly givenAdmin: KeyHolder | undefined;
  /** The rules that admit people. Their sessions end if their rule is missing here. */
  readonly rules: ReadonlySet<string>;
}

export interface Session {
  readonly id: string;
  readonly secret: string;
  readonly signedInAtMs: number;
  readonly expiresAtMs: number;
  /** Whether the browser signed in over TLS. */
  readonly isSecure: boolean;
  /** The rule that admitted the person; undefined for a session of a key. */
  readonly rule?: string | undefined;
}

/** The value of a cookie and its life. */
export interface SealedSession {
  readonly token: string;
  readonly isSecure: boolean;
  readonly secondsMax: number;
}

/** The token is the key's id, then the sealed session with the key. A revoked or expired key is refused at each request. */
export class Sessions {
  readonly #deps: SessionDeps;

  constructor(deps: SessionDeps) {
    this.#deps = deps;
  }

  begin(key: Key, secret: string, isSecure: boolean, rule?: string): SealedSession {
    const nowMs = this.#deps.accessClock.now();
    const times = { signedInAtMs: nowMs, expiresAtMs: nowMs + sessionIdleMs };
    return sealedSession(
      key,
      { id: randomBytes(idBytes).toString('base64url'), secret, ...times, isSecure, rule },
      nowMs,
    );
  }

  /**
   * Opens a token. Undefined if it is forged, damaged or has ended. Check the key like any other, as it may be revoked.
   * @returns the key's secret, and a new token if the session is due for renewal
   */
  async open(token: string): Promise<{ secret: string; renewed: SealedSession | undefined } | undefined> {
    const live = await this.#findLive(token);
    if (live === undefined) return undefined;
    const { key, session } = live;
    const nowMs = this.#deps.accessClock.now();
    const expiresAtMs = Math.min(nowMs + sessionIdleMs, session.signedInAtMs + sessionMsMax);
    const isDue = expiresAtMs - session.expiresAtMs >= renewAfterMs;
    const renewed = isDue ? sealedSession(key, { ...session, expiresAtMs }, nowMs) : undefined;
    return { secret: session.secret, renewed };
  }

  /** Ends a session, with every copy of its token, on all servers. @throws `rate_limit_exceeded` */
  async end(token: string): Promise<void> {
    const live = await this.#findLive(token);
    if (live === undefined) return;
    const { key, session } = live;
    const untilMs = session.signedInAtMs + sessionMsMax;
    const ended = { owner: key.id, session: session.id, untilMs };
    if (await this.#deps.store.sessions.end(ended, this.#deps.accessClock.now())) return;
    throw new ParleyError('rate_limit_exceeded', {
      message: `This key has ended ${endedSessionsMax} sessions in ${sessionMsMax / 3_600_000} hours. Try again later.`,
      retryAfterSeconds: renewAfterMs / 1000,
    });
  }

  async #findLive(token: string): Promise<{ readonly key: Key; readonly session: Session } | undefined> {
    if (token.length > tokenCharactersMax) return undefined;
    const [id = '', sealed = ''] = token.split('.');
    const key = await this.#findKey(id);
    if (key === undefined) return undefined;
    const session = unseal<Session>(key, purpose, sealed);
    if (session === undefined || session.expiresAtMs <= this.#deps.accessClock.now()) return undefined;
    // From an earlier version, without an id.
    if (session.id === undefined) return undefined;
    if (session.rule !== undefined && !this.#deps.rules.has(session.rule)) return undefined;
    const isEnded = await this.#deps.store.sessions.isEnded({ owner: key.id, session: session.id });
    return isEnded ? undefined : { key, session };
  }

  #findKey(id: string): Promise<Key | undefined> {
    const { givenAdmin, store } = this.#deps;
    return id === givenAdmin?.key.id ? Promise.resolve(givenAdmin.key) : store.keys.findById(id);
  }
}

function sealedSession(key: Key, session: Session, nowMs: number): SealedSession {
  const secondsMax = Math.ceil((session.expiresAtMs - nowMs) / 1000);
  return { token: `${key.id}.${seal(key, purpose, session)}`, isSecure: session.isSecure, secondsMax };
}
