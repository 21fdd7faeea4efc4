/** Rules of alerts that need no server. */
import { describe, expect, it } from 'vitest';
import { SecretSeal } from '../../../src/core/access/sealed.ts';
import { newAlert, retryDelayMs } from '../../../src/core/alerts/alerts.ts';
import { newWebhookSecret, noticeOf, signedHeaders, slackBody } from '../../../src/core/alerts/deliveries.ts';
import type { AlertDetails, AlertKind } from '../../../src/core/entities/alert.ts';
import { mayReach } from '../../../src/core/values/addresses.ts';
import { newAccountId } from '../../../src/core/values/ids.ts';

describe('an address', () => {
  const closed = [
    ...['127.0.0.1', '0.0.0.0', '10.1.2.3', '172.31.255.255', '192.168.0.1', '169.254.169.254', '100.64.0.1'],
    ...[
      '100.127.255.255',
      '192.0.0.8',
      '192.0.2.1',
      '198.18.0.1',
      '203.0.113.9',
      '224.0.0.1',
      '255.255.255.255',
    ],
    ...['::', '::1', '::ffff:10.0.0.1', '::ffff:8.8.8.8', '::ffff:a00:1', '::7f00:1', '64:ff9b::a00:1'],
    ...['fe80::1', 'fc00::1', 'fd00:ec2::254', 'ff02::1', '2001::1', '2001:db8::1', '2002:a00:1::', 'x'],
  ].filter((address) => address !== '::ffff:8.8.8.8');
  it.each(closed)('%s is not public', (address) => {
    expect(mayReach(address, 'https', { allowedNetworks: [] })).toBe(false);
  });

  it.each(['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700:4700::1111', '::ffff:8.8.8.8'])(
    '%s is public, for HTTPS only',
    (address) => {
      expect(mayReach(address, 'https', { allowedNetworks: [] })).toBe(true);
      expect(mayReach(address, 'http', { allowedNetworks: [] })).toBe(false);
    },
  );

  it('in an allowed network may be called by http and https', () => {
    const rules = { allowedNetworks: ['10.0.0.0/8', 'fd00::/8'] };
    expect(mayReach('10.9.9.9', 'http', rules)).toBe(true);
    expect(mayReach('::ffff:10.9.9.9', 'https', rules)).toBe(true);
    expect(mayReach('fd12::1', 'https', rules)).toBe(true);
    expect(mayReach('192.168.0.1', 'https', rules)).toBe(false);
  });
});

describe('a signature', () => {
  it('matches the examples of other implementations', () => {
    // From the documentation of Svix and the tests of the Standard Webhooks libraries.
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
    expect(signedHeaders({ secret, id, nowMs: 1_614_265_330_999 }, '{"test": 2432232314}')).toEqual({
      'webhook-id': id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });
});

describe('an alert', () => {
  const resetsAtMs = Date.UTC(2026, 11, 1);
  const endsAtMs = Date.UTC(2026, 10, 30, 9, 5);
  it.each<[AlertKind, AlertDetails, string, string]>([
    [
      'budget.used',
      { keyId: 'key_1', percent: 80, limitName: 'budgets.total', used: '8.5', limit: '10' },
      '80% of the budget of the key key_1 is used: 8.5 of 10',
      'Requests beyond the budget are refused. Raise the budget to continue.',
    ],
    [
      'fair_use.used',
      { percent: 100, used: '300000', limit: '300000', resetsAtMs },
      '100% of the fair use of the month is used: 300000 of 300000',
      'Speech and transcription beyond the fair use are refused. It starts again at 0 on 2026-12-01 00:00 UTC.',
    ],
    [
      'credits.low',
      { balance: '4.5', balanceBelow: '5' },
      'Fewer than 5 credits are left: 4.5',
      'Requests that the credits do not cover are refused. Load credits to continue.',
    ],
    [
      'trial.ending',
      { endsAtMs },
      'The trial ends on 2026-11-30 09:05 UTC',
      'Start or extend a plan before then: without one, speech and transcription are refused.',
    ],
    [
      'plan.ended',
      { endsAtMs },
      'The plan ended on 2026-11-30 09:05 UTC',
      'Speech and transcription are refused. Start a plan to continue.',
    ],
    ['test', {}, 'A test', 'Alerts of the account arrive here. There is nothing else to do.'],
  ])('says what happened and what to do: %s', (kind, details, words, advice) => {
    const alert = newAlert(newAccountId(1), kind, details, 1);
    expect(noticeOf({ alert, accountName: 'a\r\nb' })).toEqual({ subject: `a b: ${words}`, advice });
  });

  it('is text without markup for Slack', () => {
    const alert = newAlert(newAccountId(1), 'test', {}, 1);
    const body = slackBody(noticeOf({ alert, accountName: '<!channel> & co' }));
    expect(JSON.parse(body)).toMatchObject({ text: '&lt;!channel&gt; &amp; co: A test.' });
  });
});

describe('a sealed secret', () => {
  const accountId = newAccountId(1);
  const secret = newWebhookSecret();

  it('is opened by the same key for the same account only', () => {
    const seal = new SecretSeal('a key of some length that nobody guesses');
    const sealed = seal.seal(secret, accountId);
    expect(sealed).not.toContain(secret.slice(6, 20));
    expect(seal.open(sealed, accountId)).toBe(secret);
    expect(seal.open(sealed, newAccountId(2))).toBeUndefined();
    expect(new SecretSeal('another key of the same length, more or').open(sealed, accountId)).toBeUndefined();
    expect(new SecretSeal(undefined).open(sealed, accountId)).toBeUndefined();
  });

  it('may be unsealed, and an old unsealed secret is still read with a key', () => {
    const plain = new SecretSeal(undefined).seal(secret, accountId);
    expect(new SecretSeal('a key of some length that nobody guesses').open(plain, accountId)).toBe(secret);
  });
});

describe('the retries', () => {
  it('grow from seconds to hours', () => {
    const delays = Array.from({ length: 14 }, (_, index) => retryDelayMs(index + 1) / 1000);
    expect(delays).toEqual([
      ...[15, 30, 60, 120, 240, 480, 960, 1_920, 3_840, 7_680],
      ...[14_400, 14_400, 14_400, 14_400],
    ]);
  });
});
