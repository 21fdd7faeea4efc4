/** Lets pages of this server call it with the cookie of a session, in place of the key. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { SealedSession, Sessions } from '../../core/access/sessions.ts';
import { type ParleyError, toParleyError } from '../../core/errors.ts';
import { errorBody, errorHeaders } from '../rest/errors.ts';
import { drainBody } from './drain-body.ts';
import type { PortHandler } from './server.ts';

type Request = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;

/** The path of sessions: who is signed in, and signing in. */
export const sessionPath = '/console/session';

/** The cookie's name. Ports of one host share their cookies, so a port for administration has a cookie of its own. */
export type SessionCookie = 'parley_session' | 'parley_admin_session';

/**
 * A request with a live session and without an `Authorization` header gets the header of the session's key, and is then served as any
 * other. The cookie counts only in requests from pages of this server.
 */
export function withSessions(sessions: Sessions, name: SessionCookie, handle: PortHandler): PortHandler {
  return (request, response, client) => {
    const token = sessionToken(request, name);
    if (token === undefined) return handle(request, response, client);
    const use = async () => {
      const session = await sessions.open(token);
      if (session === undefined) return;
      request.headers.authorization = `Bearer ${session.secret}`;
      // A shared cache only sees that there was no `Authorization`.
      response.setHeader('cache-control', 'private, no-store');
      if (session.renewed) response.setHeader('set-cookie', sessionCookie(name, session.renewed));
    };
    use().then(
      () => !response.destroyed && handle(request, response, client),
      (error: unknown) => refuse(request, response, toParleyError(error)),
    );
  };
}

/** Answers while the session cannot be looked up. A 401 would tell the page that it has ended. */
function refuse(request: Request, response: Response, error: ParleyError): void {
  if (response.destroyed) return;
  response.statusCode = error.httpStatus;
  for (const [name, value] of Object.entries(errorHeaders(error))) response.setHeader(name, value);
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(errorBody(error)));
  drainBody(request);
}

/** The value of `Set-Cookie`. */
export function sessionCookie(name: SessionCookie, { token, isSecure, secondsMax }: SealedSession): string {
  const flags = `Path=/; Max-Age=${secondsMax}; HttpOnly; SameSite=Strict`;
  return `${name}=${token}; ${flags}${isSecure ? '; Secure' : ''}`;
}

/** The value of `Set-Cookie` that removes the cookie. */
export function endedCookie(name: SessionCookie): string {
  return sessionCookie(name, { token: '', isSecure: false, secondsMax: 0 });
}

/**
 * Whether a page of this server sent the request. Browsers say so in `Sec-Fetch-Site`; those without it, as on plain HTTP, name the
 * page's origin in every request that can change something.
 */
export function isFromOwnPage({ method, headers }: Pick<Request, 'method' | 'headers'>): boolean {
  const isRead = method === 'GET' || method === 'HEAD';
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || (isRead && site === 'none');
  const { origin } = headers;
  return origin === undefined ? isRead : hostOfOrigin(origin) === hostOf(headers);
}

/** Whether the page that sent the request came over TLS, also behind a proxy. */
export function isSecurePage({ origin }: IncomingHttpHeaders): boolean {
  return origin?.startsWith('https://') ?? false;
}

function sessionToken(request: Request, name: SessionCookie): string | undefined {
  const { authorization, cookie } = request.headers;
  if (cookie === undefined || authorization !== undefined || !takesSession(request)) return undefined;
  const prefix = `${name}=`;
  const found = cookie.split(/; */).find((pair) => pair.startsWith(prefix));
  const token = found?.slice(prefix.length);
  return token && isFromOwnPage(request) ? token : undefined;
}

/** Pages and their files need no key, and signing in takes the key itself: a session must not renew itself for ever. */
function takesSession({ method, url = '' }: Pick<Request, 'method' | 'url'>): boolean {
  const [path = ''] = url.split('?');
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
