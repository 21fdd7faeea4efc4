/** A provider whose tokens are wrong in one way each. Nobody gets in, and nobody is signed out. */
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import { freePort, startHttp } from '../support/http-server.ts';
import { oidcSettings, Visitor } from '../support/identity-provider.ts';
import { startParley } from '../support/parley.ts';

const { publicKey, privateKey } = await generateKeyPair('RS256');
const stranger = await generateKeyPair('RS256');
const jwk = { ...(await exportJWK(publicKey)), alg: 'RS256', use: 'sig', kid: 'one' };
const shared = new TextEncoder().encode(JSON.stringify(jwk));

/** The answer of the token endpoint. */
let answer: () => Promise<string>;

const provider = await startHttp((request, response) => {
  const path = request.url ?? '';
  const body =
    path === '/token'
      ? answer()
      : Promise.resolve(JSON.stringify(path === '/jwks' ? { keys: [jwk] } : metadata()));
  body.then((text) => response.setHeader('content-type', 'application/json').end(text));
});
const issuer = provider.origin;
const port = await freePort();
const origin = `http://127.0.0.1:${port}`;
const parley = await startParley({ settings: oidcSettings(issuer, port) });
afterAll(async () => {
  await parley.close();
  await provider.close();
});

const metadata = () => ({
  issuer,
  authorization_endpoint: `${issuer}/auth`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/jwks`,
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
  authorization_response_iss_parameter_supported: true,
});

const seconds = () => Math.floor(Date.now() / 1000);
const facts = (more: object = {}): JWTPayload => ({
  iss: issuer,
  aud: 'parley',
  sub: 'otto',
  groups: ['admins'],
  iat: seconds(),
  exp: seconds() + 60,
  ...more,
});
const signed = (payload: JWTPayload, key: Parameters<SignJWT['sign']>[0] = privateKey, header: object = {}) =>
  new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'one', ...header }).sign(key);

interface Begun {
  readonly visitor: Visitor;
  readonly state: string;
  readonly nonce: string;
}

async function begin(visitor = new Visitor()): Promise<Begun> {
  const url = new URL(await visitor.follow(`${origin}/console/oidc/sign-in`, /\/auth\?/));
  const read = (name: string) => url.searchParams.get(name) ?? '';
  expect(read('code_challenge_method')).toBe('S256');
  expect(read('code_challenge')).toMatch(/^[\w-]{43}$/);
  return { visitor, state: read('state'), nonce: read('nonce') };
}

/** Comes back from the provider, which gives this ID token. @returns where the console leads */
async function comeBack({ visitor, state }: Begun, token: string, more: Record<string, string> = {}) {
  answer = async () => JSON.stringify({ access_token: 'x', token_type: 'bearer', id_token: token });
  const query = new URLSearchParams({ code: 'code', state, iss: issuer, ...more });
  const response = await visitor.ask(`${origin}/console/oidc/callback?${query}`);
  return response.headers.get('location');
}

const failed = '/console?sign_in=failed';

it('lets in a person with a right token', async () => {
  const begun = await begin();
  expect(await comeBack(begun, await signed(facts({ nonce: begun.nonce })))).toBe('/console');
});

describe('a token', () => {
  it.each<[string, (nonce: string) => Promise<string> | string]>([
    ['of another issuer', (nonce) => signed(facts({ nonce, iss: 'https://other.example' }))],
    ['for another client', (nonce) => signed(facts({ nonce, aud: 'other' }))],
    ['with the nonce of another sign-in', () => signed(facts({ nonce: 'other' }))],
    ['without a nonce', () => signed(facts())],
    ['without a signature', (nonce) => new UnsecuredJWT(facts({ nonce })).encode()],
    ['signed by a stranger', (nonce) => signed(facts({ nonce }), stranger.privateKey)],
    ['signed with the public key as a secret', (nonce) => signed(facts({ nonce }), shared, { alg: 'HS256' })],
    ['that has expired', (nonce) => signed(facts({ nonce, iat: seconds() - 600, exp: seconds() - 60 }))],
    ['of the future', (nonce) => signed(facts({ nonce, iat: seconds() + 600, exp: seconds() + 900 }))],
    ['without an end', (nonce) => signed(facts({ nonce, exp: undefined }))],
    ['of 300 KB', (nonce) => signed(facts({ nonce, padding: 'x'.repeat(300_000) }))],
    ['that is none', () => 'none'],
  ])('%s is refused', async (_, tokenOf) => {
    const begun = await begin();
    expect(await comeBack(begun, await tokenOf(begun.nonce))).toBe(failed);
    expect(begun.visitor.cookies(origin)).not.toContain('parley_session');
  });

  it.each<[string, object]>([
    ['without a person', { sub: undefined }],
    ['with an endless name of the person', { sub: 'x'.repeat(300) }],
  ])('%s admits nobody', async (_, more) => {
    const begun = await begin();
    expect(await comeBack(begun, await signed(facts({ nonce: begun.nonce, ...more })))).not.toBe('/console');
  });

  it('is accepted from a clock that is off by 20 seconds', async () => {
    const begun = await begin();
    const token = await signed(facts({ nonce: begun.nonce, iat: seconds() + 20, exp: seconds() + 60 }));
    expect(await comeBack(begun, token)).toBe('/console');
  });
});

describe('the way back', () => {
  it('is refused with the state of another browser', async () => {
    const [mine, other] = [await begin(), await begin()];
    const token = await signed(facts({ nonce: other.nonce }));
    expect(await comeBack({ ...mine, state: other.state }, token)).toBe(failed);
  });

  it('is refused from another issuer', async () => {
    const begun = await begin();
    const token = await signed(facts({ nonce: begun.nonce }));
    expect(await comeBack(begun, token, { iss: 'https://other.example' })).toBe(failed);
  });

  it('is refused a second time, even if the provider takes the code again', async () => {
    const begun = await begin();
    const token = await signed(facts({ nonce: begun.nonce }));
    expect(await comeBack(begun, token)).toBe('/console');
    expect(await comeBack(begun, token)).toBe('/console?sign_in=refused');
  });
});

describe('a logout token', () => {
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
  const logout = (more: object = {}) => facts({ jti: 'one', events, ...more });
  const send = async (token: string) => {
    const body = new URLSearchParams({ logout_token: token });
    return (await fetch(`${origin}/console/oidc/back-channel-logout`, { method: 'POST', body })).status;
  };

  it.each<[string, () => Promise<string> | string]>([
    ['of another issuer', () => signed(logout({ iss: 'https://other.example' }))],
    ['for another client', () => signed(logout({ aud: 'other' }))],
    ['that is an ID token', () => signed(facts({ nonce: 'one', jti: 'one' }))],
    ['with a nonce', () => signed(logout({ nonce: 'one' }))],
    ['without a signature', () => new UnsecuredJWT(logout()).encode()],
    ['signed by a stranger', () => signed(logout(), stranger.privateKey)],
    ['that is old', () => signed(logout({ iat: seconds() - 3_600 }))],
    ['of nobody', () => signed(logout({ sub: undefined }))],
    ['that is none', () => 'none'],
  ])('%s ends no session', async (_, tokenOf) => {
    const begun = await begin();
    await comeBack(begun, await signed(facts({ nonce: begun.nonce })));
    expect(await send(await tokenOf())).toBe(400);
    expect((await begun.visitor.ask(`${origin}/api/v1/admin/accounts`)).status).toBe(200);
  });

  it.each<[string, object]>([
    ['of a person ends all their sessions', { sub: 'otto' }],
    ['of a session ends it', { sub: 'otto', sid: 'session-1' }],
  ])('%s', async (_, named) => {
    const begun = await begin();
    await comeBack(begun, await signed(facts({ nonce: begun.nonce, sid: 'session-1' })));
    expect(await send(await signed(logout(named)))).toBe(200);
    expect((await begun.visitor.ask(`${origin}/api/v1/admin/accounts`)).status).toBe(401);
  });

  it('is at most 64 KB long', async () => {
    expect(await send('x'.repeat(70_000))).toBe(413);
  });
});
