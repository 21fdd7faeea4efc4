/**
 * Signs people in to the console with an identity provider: `GET /console/oidc/sign-in` leads to it, and it sends the
 * browser back to `/console/oidc/callback`. It reports logouts to `POST /console/oidc/back-channel-logout`.
 */
import type { People } from '../../core/access/people.ts';
import type { IdentityProvider, SignInAttempt } from '../../core/entities/identity-provider.ts';
import { ParleyError, toParleyError } from '../../core/values/errors.ts';
import type { Log } from '../../core/values/log.ts';
import type { Exchange } from './exchange.ts';
import { readBytes } from './request.ts';
import type { Route } from './routes.ts';
import { cookieValues, sessionCookie } from './session-cookies.ts';
import { keylessRoute, type SessionPort, uncached } from './session-routes.ts';

export interface SignIn {
  /** The provider's name on the button. */
  readonly name: string;
  readonly provider: IdentityProvider;
  readonly people: People;
  /** The origins at which browsers reach the console. */
  readonly origins: readonly string[];
  readonly log: Log;
}

const attemptCookie = 'parley_sign_in';
const attemptSecondsMax = 600;
const logoutBytesMax = 65_536;
const callbackPath = '/console/oidc/callback';

export function signInRoutes(port: SessionPort, signIn: SignIn): Route[] {
  const page = (path: string, answer: (exchange: Exchange) => Promise<void>) =>
    keylessRoute('GET', path, (exchange) =>
      answer(exchange).catch((error: unknown) => refuse(exchange, signIn, error)),
    );
  return [
    page('/console/oidc/sign-in', (exchange) => begin(exchange, signIn)),
    page(callbackPath, (exchange) => finish(exchange, port, signIn)),
    keylessRoute('POST', '/console/oidc/back-channel-logout', (exchange) => endSessions(exchange, signIn)),
  ];
}

async function begin(exchange: Exchange, { provider, origins }: SignIn): Promise<void> {
  const origin = originOf(exchange, origins);
  const { url, attempt } = await provider.begin(origin + callbackPath);
  const token = Buffer.from(JSON.stringify(attempt)).toString('base64url');
  const kept = { token, isSecure: origin.startsWith('https:'), secondsMax: attemptSecondsMax };
  // The provider's page leads back, so the cookie must come with a request from another site.
  lead(exchange, url, sessionCookie(attemptCookie, kept, 'Lax'));
}

async function finish(exchange: Exchange, { sessions, cookie, kinds }: SessionPort, signIn: SignIn) {
  const origin = originOf(exchange, signIn.origins);
  const attempt = attemptOf(exchange);
  const claims = await signIn.provider.finish(new URL(`${origin}${callbackPath}?${exchange.query}`), attempt);
  const { key, secret, rule } = await signIn.people.admit(claims, attempt.state, kinds);
  const sealed = sessions.begin(key, secret, origin.startsWith('https:'), rule);
  lead(exchange, '/console', sessionCookie(cookie, sealed));
}

/** @throws `invalid_request_error` for a token that is not valid */
async function endSessions(exchange: Exchange, { provider, people }: SignIn): Promise<void> {
  const tooLarge = () => new ParleyError('payload_too_large');
  const form = new URLSearchParams((await readBytes(exchange, logoutBytesMax, tooLarge)).toString());
  try {
    await people.endSessions(await provider.readLogout(form.get('logout_token') ?? ''));
  } catch (error) {
    if (toParleyError(error).code !== 'upstream_error') throw error;
    throw new ParleyError('invalid_request_error', { message: 'The logout token is not valid.' });
  }
  exchange.sendJson(200, {}, uncached);
}

/** Shows a reason on the sign-in page, and the exact one in the log. */
function refuse(exchange: Exchange, { log }: SignIn, thrown: unknown): void {
  const { code, message } = toParleyError(thrown);
  log.warn({ requestId: exchange.served.id, reason: message }, 'a sign-in by OpenID Connect was refused');
  const reason = code === 'insufficient_scope' ? 'refused' : 'failed';
  lead(exchange, `/console?sign_in=${reason}`);
}

function lead(exchange: Exchange, location: string, cookie?: string): void {
  const headers = { location, ...uncached, ...(cookie !== undefined && { 'set-cookie': cookie }) };
  exchange.sendText(303, 'text/plain', '', headers);
}

/** The `Host` header only chooses: a sign-in never leads to an address that is not configured. */
function originOf({ request: { headers } }: Exchange, origins: readonly string[]): string {
  const host = (headers.host ?? headers[':authority'])?.toString().toLowerCase();
  const origin = origins.find((one) => new URL(one).host === host);
  if (origin !== undefined) return origin;
  throw new ParleyError('invalid_request_error', {
    message: 'The address is not one of `oidc.consoleUrls`.',
  });
}

function attemptOf({ request, query }: Exchange): SignInAttempt {
  const state = query.get('state');
  const attempt = cookieValues(request, attemptCookie)
    .map(readAttempt)
    .find((one) => one?.state === state);
  if (attempt !== undefined) return attempt;
  throw new ParleyError('invalid_request_error', { message: 'The browser has not begun this sign-in.' });
}

function readAttempt(token: string): SignInAttempt | undefined {
  try {
    const { state, nonce, verifier } = JSON.parse(Buffer.from(token, 'base64url').toString());
    const isWhole = [state, nonce, verifier].every((part) => typeof part === 'string' && part !== '');
    return isWhole ? { state, nonce, verifier } : undefined;
  } catch {
    return undefined;
  }
}
