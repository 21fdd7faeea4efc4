/** Accepts session cookies in place of a key, for pages of this server. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { SealedSession, Sessions } from '../../core/access/sessions.ts';
import { type ParleyError, toParleyError } from '../../core/values/errors.ts';
import { drainBody } from '../http/drain-body.ts';
import { noSniff } from '../http/no-sniff.ts';
import type { PortHandler } from '../http/server.ts';
import { pathOf, plainPath } from '../request-head.ts';
import { errorBody, errorHeaders } from './errors.ts';

type Request = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;

/** Maximum session cookies of a request that are tried, as each costs a database lookup. */
const cookiesMax = 8;

/** The path of sessions: who is signed in, and signing in. */
export const sessionPath = '/console/session';

/** The cookie's name. Ports of one host share their cookies, so a port for administration has a cookie of its own. */
export type SessionCookie = 'parley_session' | 'parley_admin_session';

/**
 * Adds the session's key to a request that has a live session and no `Authorization` header. The request is then served
 * like any other. The cookie counts only in requests from pages of this server.
 */
export function withSessions(sessions: Sessions, name: SessionCookie, handle: PortHandler): PortHandler {
  return (request, response, client) => {
    const tokens = takesSession(request) ? cookieValues(request, name) : [];
    if (tokens.length === 0) return handle(request, response, client);
    const use = async () => {
      const session = await openFirst(sessions, tokens);
      if (session === undefined) return;
      request.headers.authorization = `Bearer ${session.secret}`;
      // A shared cache sees only that there was no `Authorization`.
      response.setHeader('cache-control', 'private, no-store');
      if (session.renewed) response.setHeader('set-cookie', sessionCookie(name, session.renewed));
    };
    use().then(
      () => !response.destroyed && handle(request, response, client),
      (error: unknown) => refuse(request, response, toParleyError(error)),
    );
  };
}

/** Answers while the session cannot be looked up. A 401 would mean to the page that the session has ended. */
function refuse(request: Request, response: Response, error: ParleyError): void {
  if (response.destroyed) return;
  response.statusCode = error.httpStatus;
  for (const [name, value] of Object.entries(errorHeaders(error))) response.setHeader(name, value);
  response.setHeader(...noSniff);
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(errorBody(error)));
  drainBody(request);
}

/**
 * Other sites, and other ports of this host, may set cookies of the same name. An invalid one does not hide the others.
 */
export async function openFirst(sessions: Sessions, tokens: readonly string[]) {
  for (const token of tokens) {
    const session = await sessions.open(token);
    if (session !== undefined) return { ...session, token: session.renewed?.token ?? token };
  }
  return undefined;
}

/** Browsers accept a cookie with this prefix only from this host, over TLS. */
const securePrefix = '__Host-';

export function sessionCookie(
  name: string,
  { token, isSecure, secondsMax }: SealedSession,
  sameSite: 'Strict' | 'Lax' = 'Strict',
): string {
  const flags = `Path=/; Max-Age=${secondsMax}; HttpOnly; SameSite=${sameSite}`;
  return isSecure ? `${securePrefix}${name}=${token}; ${flags}; Secure` : `${name}=${token}; ${flags}`;
}

/** The value of `Set-Cookie` that removes the cookie. */
export function endedCookie(name: SessionCookie, isSecure: boolean): string {
  return sessionCookie(name, { token: '', isSecure, secondsMax: 0 });
}

/**
 * Whether a page of this server sent the request. Browsers say so in `Sec-Fetch-Site`. Without it, as on plain HTTP,
 * they name the page's origin in every request that can change data.
 */
export function isFromOwnPage({ method, headers }: Pick<Request, 'method' | 'headers'>): boolean {
  const isRead = method === 'GET' || method === 'HEAD';
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || (isRead && site === 'none');
  return headers.origin === undefined ? isRead : isFromOwnOrigin(headers);
}

/** Whether the request names this server as the origin of its page. Browsers name it in every handshake of a WebSocket. */
export function isFromOwnOrigin(headers: IncomingHttpHeaders): boolean {
  const { origin } = headers;
  return origin !== undefined && hostOfOrigin(origin) === hostOf(headers);
}

/** Whether the page that sent the request was loaded over TLS, also behind a proxy. */
export function isSecurePage({ origin }: IncomingHttpHeaders): boolean {
  return origin?.startsWith('https://') ?? false;
}

/** The values of the session's cookies, those from TLS first. */
export function cookieValues(
  { headers: { cookie = '' } }: Pick<Request, 'headers'>,
  name: string,
): readonly string[] {
  const pairs = cookie.split(/; */);
  const valuesOf = (prefix: string) =>
    pairs.flatMap((pair) => (pair.startsWith(prefix) ? pair.slice(prefix.length) || [] : []));
  return [...valuesOf(`${securePrefix}${name}=`), ...valuesOf(`${name}=`)].slice(0, cookiesMax);
}

/**
 * Not if the request has its own key, or is from another page. Pages and their files need no key, and signing in takes the key itself: a
 * session must not renew itself forever.
 */
function takesSession(request: Request): boolean {
  const { method, url, headers } = request;
  if (headers.authorization !== undefined || !isFromOwnPage(request)) return false;
  const path = plainPath(pathOf(url));
  if (path === sessionPath) return method !== 'POST';
  const isRead = method === 'GET' || method === 'HEAD';
  return !(isRead && /^\/(console|docs)(\/|$)/.test(path));
}

function hostOf(headers: IncomingHttpHeaders): string | undefined {
  return (headers.host ?? headers[':authority'])?.toString().toLowerCase();
}

function hostOfOrigin(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
