/** A session of the console on a WebSocket: its cookie stands for the key, and the connection ends with it. */
import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import type { Sessions } from '../../core/access/sessions.ts';
import { cookieValues, isFromOwnOrigin, openFirst } from '../rest/session-cookies.ts';
import type { SessionPort } from '../rest/session-routes.ts';

/** How often an open connection checks that nobody has signed out. */
const checkEveryMs = 10_000;
const policyViolation = 1008;

export class PageSession {
  readonly secret: string;
  readonly #sessions: Sessions;
  #token: string;

  private constructor(sessions: Sessions, secret: string, token: string) {
    this.#sessions = sessions;
    this.secret = secret;
    this.#token = token;
  }

  /** Undefined without a live session, or if another page opens the connection: cookies alone do not distinguish pages. */
  static async open({ headers }: IncomingMessage, port: SessionPort): Promise<PageSession | undefined> {
    if (!isFromOwnOrigin(headers)) return undefined;
    const session = await openFirst(port.sessions, cookieValues({ headers }, port.cookie));
    return session && new PageSession(port.sessions, session.secret, session.token);
  }

  /** Closes the connection soon after somebody has signed out of the session. */
  guard(webSocket: WebSocket): void {
    const timer = setInterval(() => {
      this.#isLive().then(
        (isLive) => isLive || webSocket.close(policyViolation, 'invalid_api_key'),
        // A database that does not answer ends nothing.
        () => undefined,
      );
    }, checkEveryMs);
    webSocket.once('close', () => clearInterval(timer));
  }

  /** An open connection keeps its session in use. */
  async #isLive(): Promise<boolean> {
    const session = await this.#sessions.open(this.#token);
    this.#token = session?.renewed?.token ?? this.#token;
    return session !== undefined;
  }
}
