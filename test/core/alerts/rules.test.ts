/** Rules of alerts that need no server. */
import { describe, expect, it } from 'vitest';
import { retryDelayMs } from '../../../src/core/alerts/deliveries.ts';
import { SecretSeal } from '../../../src/core/alerts/secret-seal.ts';
import { newWebhookSecret, signedHeaders } from '../../../src/core/alerts/signature.ts';
import { mayReach } from '../../../src/core/alerts/webhook-address.ts';
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
