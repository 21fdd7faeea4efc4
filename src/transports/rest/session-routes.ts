/**
 * Signs the console in and out: `POST /console/session` with a key, `POST /console/session/accept` with an invitation,
 * `GET /console/session`, `POST /console/session/end`.
 */

import type { Accepted } from '../../core/access/invitations.ts';
import type { Sessions } from '../../core/access/sessions.ts';
import type { Key, KeyHolder } from '../../core/entities/key.ts';
import { adminScopesOf } from '../../core/entities/key.ts';
import { ParleyError, toParleyError } from '../../core/values/errors.ts';
import { keyKinds } from '../../core/values/key-secret.ts';
import type { Exchange } from './exchange.ts';
import type { Route } from './routes.ts';
import {
  cookieValues,
  endedCookie,
  isFromOwnPage,
  isSecurePage,
  type SessionCookie,
  sessionCookie,
  sessionPath,
} from './session-cookies.ts';

export const uncached = { 'cache-control': 'no-store' };

export interface SessionPort {
  readonly sessions: Sessions;
  readonly cookie: SessionCookie;
  /** The kinds of keys that the port serves. */
  readonly kinds: readonly Key['kind'][];
  /** The name of the identity provider; undefined for none. */
  readonly provider: string | undefined;
}

/** A path of browsers that needs no key. It refuses a call while too many without a key run on the connection. */
export function keylessRoute(
  verb: 'GET' | 'POST',
  path: string,
  answer: (exchange: Exchange) => Promise<void> | void,
): Route {
  const handle = async (exchange: Exchange) => {
    exchange.served.openKeyless();
    await answer(exchange);
  };
  return { rule: { verb, path }, rpc: undefined, handle };
}

export function sessionRoutes(port: SessionPort): Route[] {
  return [
    keylessRoute('GET', sessionPath, (exchange) => show(exchange, port)),
    keylessRoute('POST', sessionPath, (exchange) => signIn(exchange, port)),
    keylessRoute('POST', `${sessionPath}/accept`, (exchange) => accept(exchange, port)),
    keylessRoute('POST', `${sessionPath}/end`, (exchange) => signOut(exchange, port)),
  ];
}

/**
 * Exchanges the key in the `Authorization` header for a session.
 * @throws the gate's errors for a key that is not valid
 */
async function signIn(exchange: Exchange, port: SessionPort): Promise<void> {
  const { headers } = exchange.request;
  checkPage(exchange);
  const { gate, arrival } = exchange.served;
  const holder = await gate.identify(arrival);
  const { key } = holder;
  if (!port.kinds.includes(key.kind))
    throw new ParleyError('insufficient_scope', { message: wrongPort[key.kind] });
  const secret = headers.authorization?.replace(/^Bearer\s+/i, '').trim() ?? '';
  begin(exchange, port, { ...holder, secret });
}

/**
 * Exchanges the invitation in the `Authorization` header for a key, which the answer shows once, and a session.
 * @throws the gate's errors for an invitation that is not valid
 */
async function accept(exchange: Exchange, port: SessionPort): Promise<void> {
  checkPage(exchange);
  const { gate, arrival } = exchange.served;
  const accepted = await gate.accept(arrival, port.kinds);
  begin(exchange, port, accepted, { secret: accepted.secret });
}

function begin(exchange: Exchange, port: SessionPort, { key, account, secret }: Accepted, more: object = {}) {
  const sealed = port.sessions.begin(key, secret, isSecurePage(exchange.request.headers));
  exchange.sendJson(
    200,
    { ...describe({ key, account }, port), ...more },
    { ...uncached, 'set-cookie': sessionCookie(port.cookie, sealed) },
  );
}

const wrongPort: Readonly<Record<Key['kind'], string>> = {
  admin: 'This is an admin key. Open the console at the port for administration.',
  account: 'This is the key of an account. Open the console at the port for clients.',
};

/** A missing session is an answer, not an error: the page asks before anyone has signed in. */
async function show(exchange: Exchange, port: SessionPort): Promise<void> {
  const isOut = exchange.request.headers.authorization === undefined;
  const body = isOut ? signedOut(port) : await current(exchange, port);
  exchange.sendJson(200, body, uncached);
}

function signedOut(port: SessionPort): object {
  return { signed_in: false, ...providerOf(port) };
}

function providerOf({ provider }: SessionPort): object {
  return provider === undefined ? {} : { provider };
}

async function current(exchange: Exchange, port: SessionPort): Promise<object> {
  try {
    const { gate, arrival } = exchange.served;
    return describe(await gate.identify(arrival), port);
  } catch (error) {
    if (toParleyError(error).code !== 'invalid_api_key') throw error;
    return signedOut(port);
  }
}

/** Ends the session on every server, so that copies of the cookie no longer work. */
async function signOut(exchange: Exchange, port: SessionPort): Promise<void> {
  const { sessions, cookie } = port;
  checkPage(exchange);
  const { request } = exchange;
  for (const token of cookieValues(request, cookie)) await sessions.end(token);
  const ended = endedCookie(cookie, isSecurePage(request.headers));
  exchange.sendJson(200, signedOut(port), { ...uncached, 'set-cookie': ended });
}

function checkPage({ request }: Exchange): void {
  if (isFromOwnPage(request)) return;
  const message = 'Only pages of this server sign in and out. Call the API with your key instead.';
  throw new ParleyError('insufficient_scope', { message });
}

function describe({ key, account }: KeyHolder, port: SessionPort): object {
  const { id, name, kind, lastFour, scopes, createdAtMs, expiresAtMs, person } = key;
  return {
    signed_in: true,
    kind,
    account_name: account?.name ?? null,
    is_person: person !== undefined,
    admin_scopes: kind === 'admin' ? adminScopesOf(key) : [],
    ...providerOf(port),
    key: {
      id,
      name,
      prefix: keyKinds[kind],
      last_four: lastFour,
      scopes,
      created_at: new Date(createdAtMs).toISOString(),
      expires_at: expiresAtMs === undefined ? null : new Date(expiresAtMs).toISOString(),
    },
  };
}
