/** The rate limit of requests without a valid key. Requests with a valid one are never limited. */
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import { afterAll, describe, expect, it } from 'vitest';
import { CatalogService } from '../../../gen/parley/catalog/v1/catalog_service_pb.ts';
import { FailedKeys } from '../../../src/core/access/failed-keys.ts';
import { bearer, errorOf, startParley } from '../../support/parley.ts';

const allowed = 5;

const parley = await startParley({ settings: { limits: { failedKeysPerMinuteMax: allowed } } });
afterAll(() => parley.close());

describe('requests without a valid key', () => {
  const tryKey = async (key: string) => errorOf(await parley.call('/models', bearer(key)));

  it('are answered with 429 over the limit of their address, on every path and wire', async () => {
    for (let time = 0; time < allowed; time++) {
      const key = time % 2 === 0 ? 'pk_wrong' : `pk_${'0'.repeat(57)}`;
      expect(await tryKey(key)).toMatchObject({ status: 401, code: 'invalid_api_key' });
    }
    const refused = await parley.call('/models', bearer('pk_wrong'));
    expect(await errorOf(refused.clone())).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    expect((await parley.call('/admin/accounts', bearer('pa_wrong'))).status).toBe(429);
    const { origin } = new URL(parley.baseUrl);
    for (const transport of [
      createConnectTransport({ baseUrl: origin, httpVersion: '1.1' }),
      createGrpcTransport({ baseUrl: origin }),
    ]) {
      const error = ConnectError.from(
        await createClient(CatalogService, transport)
          .listModels({})
          .catch((thrown: unknown) => thrown),
      );
      expect(error.code).toBe(Code.ResourceExhausted);
    }
  });

  it('do not affect clients at the same address with a valid key', async () => {
    expect((await tryKey('pk_wrong')).status).toBe(429);
    expect((await parley.call('/models')).status).toBe(200);
    expect((await parley.admin('/accounts')).status).toBe(200);
  });
});

describe('an address', () => {
  it.each([
    ['an IPv4 address', '192.0.2.1', '192.0.2.1', true],
    ['another', '192.0.2.1', '192.0.2.2', false],
    ['an IPv4 address that came over IPv6', '192.0.2.1', '::ffff:192.0.2.1', true],
    ['another', '::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
    ['an IPv6 address of the same network', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2:ffff::1', true],
    ['one of another', '2001:db8:1:2:3:4:5:6', '2001:db8:1:3:3:4:5:6', false],
    ['one of the same network, whose zeros are left out', '2001:db8::1:2:3:4', '2001:db8::5:2:3:4', true],
    ['the same with more of them', '2001:db8::1', '2001:db8::5:2:3:4', true],
    ['one of another, whose zeros are left out', '2001:db8::1', '2001:db8:1::1', false],
    ['itself', '::1', '::1', true],
  ])('is counted with %s: %s, %s: %s', async (_, one, other, isSame) => {
    const failedKeys = new FailedKeys(1);
    await failedKeys.note(one);
    const outcome = await failedKeys.note(other).then(
      () => 'allowed',
      () => 'refused',
    );
    expect(outcome).toBe(isSame ? 'refused' : 'allowed');
  });
});
