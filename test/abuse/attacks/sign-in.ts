import assert from 'node:assert/strict';
import { endless, json } from '../../support/upstream-answers.ts';
import type { Attack, AttackClass } from '../attack.ts';
import { expectStatus } from '../harness/expected.ts';
import { consoleHost } from '../harness/server.ts';
import type { Answered, Sent, Target } from '../harness/target.ts';

const [led, invalid, tooLarge] = [303, 400, 413];
const times = 400;
const atOnce = 40;
const logoutBytesMax = 65_536;
const attempt = { state: 's'.repeat(43), nonce: 'n'.repeat(43), verifier: 'v'.repeat(43) };
const cookie = `parley_sign_in=${base64url(attempt)}; __Host-parley_sign_in=${base64url(attempt)}`;
const ownCallback = `/console/oidc/callback?state=${attempt.state}&code=c`;
const form = { 'content-type': 'application/x-www-form-urlencoded' };

function base64url(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** The upstream is the identity provider, too. */
function answerAsProvider({ server: { upstream } }: Target): void {
  const issuer = upstream.baseUrl;
  upstream.answer(
    '/.well-known/openid-configuration',
    json({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    }),
  );
  upstream.answer('/jwks', json({ keys: [] }));
}

const ask = (target: Target, { headers, ...sent }: Sent) =>
  target.send({ ...sent, headers: { host: consoleHost, ...headers } });

/** Sends requests, many at once, which must all get this status. */
function flood(name: string, sent: Sent, status: number, prepare = answerAsProvider): Attack {
  return {
    name,
    by: 'stranger',
    connections: atOnce,
    requests: times,
    async play(target) {
      prepare(target);
      for (let sentTimes = 0; sentTimes < times; sentTimes += atOnce) {
        const answers = Array.from({ length: atOnce }, () => ask(target, sent));
        for (const answer of await Promise.all(answers)) expectStatus(answer, status);
      }
    },
  };
}

function logout(token: string): Sent {
  return {
    path: '/console/oidc/back-channel-logout',
    headers: form,
    body: new URLSearchParams({ logout_token: token }).toString(),
  };
}

function notSignedIn(answer: Answered): void {
  expectStatus(answer, led);
  assert.equal(answer.headers.location, '/console?sign_in=failed');
}

/** Plays sign-ins to their end with a provider that answers so. */
function withTokens(name: string, answer: (target: Target) => void): Attack {
  return {
    name,
    by: 'stranger',
    connections: atOnce,
    async play(target) {
      answerAsProvider(target);
      answer(target);
      const sent: Sent = { method: 'GET', path: ownCallback, headers: { cookie } };
      const answers = await Promise.all(Array.from({ length: atOnce }, () => ask(target, sent)));
      answers.forEach(notSignedIn);
    },
  };
}

const unknownKey = (text: string) =>
  `${base64url({ alg: 'RS256', kid: text })}.${base64url({ sub: text })}.${'A'.repeat(342)}`;

export const signIns: AttackClass = {
  title: 'Sign-in by OpenID Connect',
  attacks: [
    flood('sign-ins that are begun and left', { method: 'GET', path: '/console/oidc/sign-in' }, led),
    flood(
      'callbacks with a state of another browser',
      { method: 'GET', path: '/console/oidc/callback?state=other&code=c', headers: { cookie } },
      led,
    ),
    flood(
      'callbacks with a code and cookies of 8 KiB',
      {
        method: 'GET',
        path: `${ownCallback}${'c'.repeat(4_096)}`,
        headers: { cookie: `${'parley_sign_in=x; '.repeat(200)}${cookie}` },
      },
      led,
    ),
    withTokens('an ID token of 250 KB', ({ server: { upstream } }) => {
      const idToken = `${base64url({ alg: 'RS256', kid: 'k' })}.${base64url({ sub: 'x'.repeat(180_000) })}.AA`;
      upstream.answer('/token', json({ access_token: 'a', token_type: 'bearer', id_token: idToken }));
    }),
    withTokens('an answer of the provider without end', ({ server: { upstream } }) => {
      upstream.answer('/token', endless('x'.repeat(65_536), { 'content-type': 'application/json' }));
    }),
    flood('logouts that are no token', logout('.'.repeat(logoutBytesMax - 100)), invalid),
    flood('logouts over the limit', logout('x'.repeat(logoutBytesMax)), tooLarge),
    flood(
      'logout tokens with 10,000 levels',
      logout(`${Buffer.from(`${'['.repeat(10_000)}`).toString('base64url')}.e30.AA`),
      invalid,
    ),
    {
      ...flood('logout tokens with keys that nobody has', logout(unknownKey('k'.repeat(10_000))), invalid),
      async play(target) {
        answerAsProvider(target);
        const { upstream } = target.server;
        const fetched = () => upstream.requests.filter(({ path }) => path === '/jwks').length;
        const before = fetched();
        for (let sent = 0; sent < times; sent += atOnce) {
          const answers = Array.from({ length: atOnce }, (_, at) =>
            ask(target, logout(unknownKey(`${sent + at}`))),
          );
          for (const answer of await Promise.all(answers)) expectStatus(answer, invalid, 503);
        }
        assert.ok(fetched() - before <= 2, `the keys were fetched ${fetched() - before} times`);
      },
    },
  ],
};
