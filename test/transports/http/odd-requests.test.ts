/** HTTP/1 requests that no library sends. Each gets the JSON error with its status, and none replaces the answer to another. */
import { once } from 'node:events';
import { connect } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import { withFakes } from '../../support/fake-engines.ts';
import { startParley } from '../../support/parley.ts';
import { RawClient } from '../../support/raw-http.ts';

const parley = await startParley({ engines: withFakes({}) });
afterAll(() => parley.close());

const models = '/api/v1/models';
const lines = (...all: string[]) => `${all.join('\r\n')}\r\n\r\n`;
const key = () => `authorization: Bearer ${parley.apiKey}`;

async function sent(...parts: (string | Uint8Array)[]): Promise<RawClient> {
  const client = await RawClient.open(parley.baseUrl);
  for (const part of parts) await client.write(part);
  return client;
}

describe('a request is refused as JSON, with its status,', () => {
  const rpc = '/parley.catalog.v1.CatalogService/ListModels';
  const typed = 'content-type: application/json';

  it.each<[string, number, string, () => string]>([
    ['without Host', 400, 'invalid_request_error', () => lines(`GET ${models} HTTP/1.1`, key())],
    [
      'with two of them',
      400,
      'invalid_request_error',
      () => lines(`GET ${models} HTTP/1.1`, 'host: a', 'host: b', key()),
    ],
    [
      'with two equal ones',
      400,
      'invalid_request_error',
      () => lines(`GET ${models} HTTP/1.0`, 'host: a', 'host: a', key()),
    ],
    [
      'with one that is no host',
      400,
      'invalid_request_error',
      () => lines(`POST ${rpc} HTTP/1.1`, 'host: a b/c', key(), typed, 'content-length: 0'),
    ],
    [
      'with an expectation that is not met',
      417,
      'invalid_request_error',
      () => lines(`GET ${models} HTTP/1.1`, 'host: a', 'expect: foo', key()),
    ],
    [
      'in HTTP/2.0 without its frames',
      505,
      'invalid_request_error',
      () => lines(`GET ${models} HTTP/2.0`, 'host: a', key()),
    ],
    ['in HTTP/0.9', 505, 'invalid_request_error', () => lines(`GET ${models} HTTP/0.9`, 'host: a', key())],
    ['CONNECT', 404, 'not_found', () => lines('CONNECT example.com:443 HTTP/1.1', 'host: a', key())],
    ['OPTIONS of all', 404, 'not_found', () => lines('OPTIONS * HTTP/1.1', 'host: a', key())],
    ['TRACE', 404, 'not_found', () => lines(`TRACE ${models} HTTP/1.1`, 'host: a', key())],
    ['of a method unknown', 400, 'invalid_request_error', () => lines(`FOO ${models} HTTP/1.1`, 'host: a')],
    [
      'to upgrade elsewhere',
      404,
      'not_found',
      () => lines('GET /chat HTTP/1.1', 'host: a', key(), 'connection: upgrade', 'upgrade: websocket'),
    ],
    [
      'with a coding of its body that is none',
      400,
      'invalid_request_error',
      () => lines(`POST ${models} HTTP/1.1`, 'host: a', 'transfer-encoding: nonsense'),
    ],
    [
      'with two lengths',
      400,
      'invalid_request_error',
      () => lines(`POST ${models} HTTP/1.1`, 'host: a', 'content-length: 1', 'content-length: 2'),
    ],
  ])('%s', async (_, status, code, request) => {
    const client = await sent(request());
    const answer = await client.answer();
    expect(answer).toMatchObject({ status, head: expect.stringMatching(/content-type: application\/json/i) });
    expect(answer.head).toMatch(/\r\nx-content-type-options: nosniff/i);
    const { error } = JSON.parse(answer.body);
    expect(error).toEqual({ message: expect.any(String), type: expect.any(String), param: null, code });
    client.close();
  });
});

it.each<[string, number, string, Record<string, string>]>([
  ['an expectation', 417, 'invalid_request_error', { ':path': models, expect: 'foo' }],
  ['CONNECT', 404, 'not_found', { ':method': 'CONNECT', ':authority': 'a:1' }],
])('over HTTP/2, %s gets %i as JSON', async (_, status, code, headers) => {
  const session = connect(new URL(parley.baseUrl).origin);
  const stream = session.request(headers, { endStream: true });
  const [answered] = await once(stream, 'response');
  expect(answered[':status']).toBe(status);
  expect(answered['x-content-type-options']).toBe('nosniff');
  expect(JSON.parse(await text(stream)).error).toMatchObject({ param: null, code });
  session.close();
});

describe('the answer to a request is not replaced by what follows it:', () => {
  const good = (...more: string[]) => lines(`GET ${models} HTTP/1.1`, 'host: a', key(), ...more);
  const statuses = async (client: RawClient) => {
    await expect.poll(() => client.isClosed).toBe(true);
    return [...client.received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
  };

  it.each<[string, string, number[]]>([
    ['a request after the last', 'connection: close', [200]],
    ['a request after a CONNECT', '', [200, 404]],
  ])('%s', async (_, header, expected) => {
    const next = header === '' ? lines('CONNECT a:1 HTTP/1.1', 'host: a', key()) : good();
    const client = await sent(good(...(header === '' ? [] : [header])) + next, good());
    expect(await statuses(client)).toEqual(expected);
  });

  it.each<[string, () => string]>([
    ['nonsense', () => 'nonsense\r\n\r\n'],
    ['headers over the limit', () => good(`x-a: ${'b'.repeat(17_000)}`)],
    [
      'a chunk that is none',
      () => lines('POST /api/v1/chat/completions HTTP/1.1', 'host: a', key(), 'transfer-encoding: chunked'),
    ],
  ])('%s', async (_, next) => {
    const client = await sent(`${good()}${good()}${next()}nonsense\r\n\r\n`);
    const [first, second, third, ...more] = await statuses(client);
    expect([first, second]).toEqual([200, 200]);
    expect([400, 431]).toContain(third);
    expect(more).toEqual([]);
  });
});

describe('a connection that closes after a refusal takes the rest of the body first, so that the client can read the answer:', () => {
  const size = 1024 ** 2;
  const withBody = (path: string, ...more: string[]) =>
    lines(`POST ${path} HTTP/1.1`, 'host: a', `content-length: ${size}`, ...more);
  const rpc = '/parley.catalog.v1.CatalogService/ListModels';

  it.each<[string, number, string]>([
    ['REST', 401, withBody('/api/v1/chat/completions', 'connection: close')],
    ['Connect', 401, withBody(rpc, 'connection: close', 'content-type: application/json')],
    ['a refused head', 417, withBody('/api/v1/chat/completions', 'expect: foo')],
  ])('%s', async (_, status, head) => {
    const { hostname, port } = new URL(parley.baseUrl);
    const socket = connectTcp({ port: Number(port), host: hostname, allowHalfOpen: true });
    const failures: Error[] = [];
    socket.on('error', (error) => failures.push(error));
    socket.write(head);
    // The server has sent its last byte.
    expect(await text(socket)).toContain(`HTTP/1.1 ${status} `);
    const closed = once(socket, 'close');
    socket.end('x'.repeat(size));
    await closed;
    expect(failures).toEqual([]);
  });
});

it.each([
  ['first', ''],
  ['second', lines('GET /healthz HTTP/1.1', 'host: a')],
])('a client that stays after its %s request was refused loses its connection', async (_, earlier) => {
  const { hostname, port } = new URL(parley.baseUrl);
  const socket = connectTcp({ port: Number(port), host: hostname, allowHalfOpen: true });
  const failures: Error[] = [];
  socket.on('error', (error) => failures.push(error));
  socket.write(`${earlier}nonsense\r\n\r\n`);
  expect(await text(socket)).toContain('HTTP/1.1 400 ');
  // Only a connection that the server has closed refuses sent data.
  await expect.poll(() => socket.write('a') && failures.length, { timeout: 10_000 }).not.toBe(0);
});

it('every request that has a valid key is recorded, also a CONNECT', async () => {
  const client = await sent(lines('CONNECT example.com:443 HTTP/1.1', 'host: a', key()));
  const { head } = await client.answer();
  const id = /x-request-id: (\S+)/i.exec(head)?.[1];
  await expect
    .poll(async () => (await parley.app.store.usage.list({}, { size: 100, after: undefined })).items)
    .toContainEqual(expect.objectContaining({ id, state: 'refused', httpStatus: 404 }));
  await expect.poll(() => client.isClosed).toBe(true);
});

it.each([
  ['after its server, as through a proxy', 'http://a/api/v1/models'],
  ['in percent-encoding', '/api/v1/mod%65ls'],
])('a path %s is that path', async (_, target) => {
  const client = await sent(lines(`GET ${target} HTTP/1.1`, 'host: a', key()));
  expect((await client.answer()).status).toBe(200);
});
