/** Behind a trusted proxy, the address of a client is the one that the proxy names. */
import { afterEach, describe, expect, it } from 'vitest';
import { type ProxySettings, TrustedProxies } from '../../../src/transports/http/trusted-proxies.ts';
import { withFakes } from '../../support/fake-engines.ts';
import { bearer, type Parley, startParley } from '../../support/parley.ts';

describe('the address of a client', () => {
  const trusted = ['10.0.0.0/8', '192.0.2.1', '2001:db8:1::/48'];
  const clientOf = (
    proxyHeader: ProxySettings['proxyHeader'],
    value: string | undefined,
    peer = '10.0.0.1',
  ) => new TrustedProxies({ trustedProxies: trusted, proxyHeader }).clientOf(peer, { [proxyHeader]: value });

  it.each<[string, string | undefined, string]>([
    ['the proxy itself without the header', undefined, '10.0.0.1'],
    ['the one in the header', '198.51.100.7', '198.51.100.7'],
    ['the last, as a client can write the first', '203.0.113.9, 198.51.100.7', '198.51.100.7'],
    ['the last before the trusted proxies', '203.0.113.9, 198.51.100.7,10.9.9.9 , 192.0.2.1', '198.51.100.7'],
    ['the first if all are trusted', '10.1.1.1, 10.2.2.2', '10.1.1.1'],
    ['one with a port', '198.51.100.7:4711', '198.51.100.7'],
    ['one of IPv6', '2001:db8:2::7', '2001:db8:2::7'],
    [
      'one of IPv6 with a port, before a proxy of IPv6',
      '[2001:db8:2::7]:4711, 2001:db8:1::1',
      '2001:db8:2::7',
    ],
    ['one of IPv4 over IPv6', '::ffff:198.51.100.7', '198.51.100.7'],
    ['the last hop before a name', '198.51.100.7, unknown, 10.2.2.2', '10.2.2.2'],
    ['the proxy after nonsense', '198.51.100.7, ,', '10.0.0.1'],
  ])('is %s: %s', (_, value, address) => {
    expect(clientOf('x-forwarded-for', value)).toBe(address);
  });

  it.each<[string, string, string]>([
    ['an address', 'for=198.51.100.7;proto=https', '198.51.100.7'],
    ['the last', 'for=203.0.113.9, proto=http; FOR=198.51.100.7;by=10.0.0.1', '198.51.100.7'],
    ['one in quotes', 'for="[2001:db8:2::7]:4711", for="10.2.2.2:80"', '2001:db8:2::7'],
    ['a hidden name', 'for=198.51.100.7, for=_hidden', '10.0.0.1'],
    ['none', 'proto=https', '10.0.0.1'],
  ])('is read from `Forwarded`: %s', (_, value, address) => {
    expect(clientOf('forwarded', value)).toBe(address);
  });

  it('is that of the connection if the connection is not from a trusted proxy', () => {
    expect(clientOf('x-forwarded-for', '198.51.100.7', '203.0.113.1')).toBe('203.0.113.1');
    expect(clientOf('forwarded', 'for=198.51.100.7', '203.0.113.1')).toBe('203.0.113.1');
  });
});

describe('the limit of failed keys', () => {
  let parley: Parley;
  afterEach(() => parley.close());

  const start = async (server: object) => {
    parley = await startParley({
      settings: { server, limits: { failedKeysPerMinuteMax: 1 } },
      engines: withFakes({}),
    });
  };
  const paths = ['/models', '/parley.catalog.v1.CatalogService/ListModels'];
  const statusFor = async (address: string, path = paths[0]) => {
    const headers = {
      'x-forwarded-for': address,
      authorization: 'Bearer pk_wrong',
      'content-type': 'application/json',
    };
    const url = path === paths[0] ? parley.baseUrl + path : new URL(path ?? '', parley.baseUrl);
    return (await fetch(url, { headers, ...(path !== paths[0] && { method: 'POST', body: '{}' }) })).status;
  };

  it('counts by the address that a trusted proxy names, on every wire', async () => {
    await start({ trustedProxies: ['127.0.0.0/8'] });
    expect(await statusFor('198.51.100.7')).toBe(401);
    for (const path of paths) expect(await statusFor('198.51.100.7', path)).toBe(429);
    for (const [index, path] of paths.entries())
      expect(await statusFor(`198.51.100.8${index}`, path)).toBe(401);
  });

  it('counts by the address of the connection by default', async () => {
    await start({});
    expect(await statusFor('198.51.100.7')).toBe(401);
    expect(await statusFor('198.51.100.8')).toBe(429);
    expect((await parley.call('/models', bearer(parley.apiKey))).status).toBe(200);
  });
});
