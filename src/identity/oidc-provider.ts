/** Sign-in by OpenID Connect: the authorization code flow with PKCE, and back-channel logout. */

import { createRemoteJWKSet, customFetch, type errors, type JWTPayload, jwtVerify } from 'jose';
import * as client from 'openid-client';
import { providerId } from '../core/access/people.ts';
import {
  type Claims,
  type IdentityProvider,
  isSafeUrl,
  type ProviderLogout,
  type SignInAttempt,
} from '../core/entities/identity-provider.ts';
import { CollectedBytes } from '../core/values/collected-bytes.ts';
import { ParleyError } from '../core/values/errors.ts';

const answerBytesMax = 262_144;
const answerMsMax = 10_000;

/** Fetches over TLS, within a time and a number of bytes. @throws TypeError as `fetch`; Error for an unsafe URL or an answer that is too large */
async function boundedFetch(url: string, options: object): Promise<Response> {
  if (!isSafeUrl(url)) throw new Error('the provider names a URL without TLS');
  const signal = AbortSignal.timeout(answerMsMax);
  const response = await fetch(url, { ...options, redirect: 'manual', signal });
  const body = new CollectedBytes();
  for await (const piece of response.body ?? []) {
    if (body.length + piece.length > answerBytesMax)
      throw new Error('the answer of the provider is too large');
    body.add(piece);
  }
  const { status } = response;
  const headers = new Headers(response.headers);
  // The body is decoded, and its length may differ.
  for (const name of ['content-encoding', 'content-length']) headers.delete(name);
  return new Response(body.length === 0 ? null : new Uint8Array(body.bytes), { status, headers });
}

/** Clocks of the provider and this server may differ by this. */
const clockToleranceSeconds = 30;
const logoutTokenSecondsMax = 300;
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
/** Each may hold answers of the provider in memory. */
const runningMax = 32;
const reasonCharactersMax = 300;

export interface OidcOptions {
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined for a public client, which has none. */
  readonly clientSecret: string | undefined;
  /** Must contain `openid`. */
  readonly scopes: readonly string[];
}

/** The provider's metadata, and the keys that verify its logout tokens. */
interface Discovered {
  readonly config: client.Configuration;
  readonly keys: ReturnType<typeof createRemoteJWKSet>;
}

export class OidcProvider implements IdentityProvider {
  readonly #options: OidcOptions;
  #discovered: Promise<Discovered> | undefined;
  #running = 0;

  constructor(options: OidcOptions) {
    this.#options = options;
  }

  begin(callback: string): Promise<{ url: string; attempt: SignInAttempt }> {
    return this.#run(async ({ config }) => {
      const [state, nonce, verifier] = [
        client.randomState(),
        client.randomNonce(),
        client.randomPKCECodeVerifier(),
      ];
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: callback,
        scope: this.#options.scopes.join(' '),
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, attempt: { state, nonce, verifier } };
    });
  }

  finish(callback: URL, { state, nonce, verifier }: SignInAttempt): Promise<Claims> {
    return this.#run(async ({ config }) => {
      const tokens = await client.authorizationCodeGrant(config, callback, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined) throw new Error('there is no ID token');
      if (claims.iat > Date.now() / 1000 + clockToleranceSeconds)
        throw new Error('the ID token is of the future');
      return claims;
    });
  }

  readLogout(token: string): Promise<ProviderLogout> {
    return this.#run(async ({ config, keys }) => {
      const { payload } = await jwtVerify(token, keys, {
        issuer: config.serverMetadata().issuer,
        audience: this.#options.clientId,
        maxTokenAge: logoutTokenSecondsMax,
        clockTolerance: clockToleranceSeconds,
        requiredClaims: ['iat', 'jti', 'events'],
      });
      return logoutOf(payload);
    });
  }

  /** Runs a step with the provider's metadata, which is read once. Translates all failures. */
  async #run<T>(work: (discovered: Discovered) => Promise<T>): Promise<T> {
    if (this.#running >= runningMax) throw new ParleyError('overloaded', { retryAfterSeconds: 1 });
    this.#running += 1;
    try {
      this.#discovered ??= this.#discover();
      return await work(await this.#discovered);
    } catch (cause) {
      throw new ParleyError('upstream_error', { message: reasonOf(cause), cause });
    } finally {
      this.#running -= 1;
    }
  }

  async #discover(): Promise<Discovered> {
    const { issuer, clientId, clientSecret } = this.#options;
    try {
      const config = await client.discovery(
        new URL(issuer),
        clientId,
        { [client.clockTolerance]: clockToleranceSeconds },
        clientSecret === undefined ? client.None() : client.ClientSecretPost(clientSecret),
        {
          [client.customFetch]: boundedFetch,
          timeout: answerMsMax / 1000,
          // `boundedFetch` decides about plain HTTP. Signatures are checked even of tokens that came over TLS.
          execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
        },
      );
      const { jwks_uri: keysUrl = '' } = config.serverMetadata();
      const keys = createRemoteJWKSet(new URL(keysUrl), {
        [customFetch]: boundedFetch,
        timeoutDuration: answerMsMax,
      });
      return { config, keys };
    } catch (error) {
      // The next sign-in tries again.
      this.#discovered = undefined;
      throw error;
    }
  }
}

/** @throws Error for a token that is not for a logout */
function logoutOf({ iss = '', sub, sid, iat = 0, events, nonce }: JWTPayload): ProviderLogout {
  const isLogout = typeof events === 'object' && events !== null && logoutEvent in events;
  if (!isLogout || nonce !== undefined) throw new Error('the token is not for a logout');
  const startedBeforeMs = (iat + clockToleranceSeconds) * 1000;
  if (typeof sid === 'string') return { of: 'session', id: providerId(iss, sid), startedBeforeMs };
  if (typeof sub === 'string') return { of: 'subject', id: providerId(iss, sub), startedBeforeMs };
  throw new Error('the token names neither a person nor a session');
}

/** The reason for the log. The causes of errors hold tokens and stay out of it. */
function reasonOf(error: unknown): string {
  const { message, code } = error as Partial<errors.JOSEError>;
  return [code, message].filter(Boolean).join(': ').slice(0, reasonCharactersMax);
}
