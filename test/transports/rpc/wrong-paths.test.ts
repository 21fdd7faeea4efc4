/** A wrong path or method is answered in the form of the client's wire, with a record that names the wire. */
import { Code, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { afterAll, describe, expect, it } from 'vitest';
import { ErrorInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { CatalogService } from '../../../gen/parley/catalog/v1/catalog_service_pb.ts';
import { ChatService } from '../../../gen/parley/chat/v1/chat_service_pb.ts';
import { bearer, startParley } from '../../support/parley.ts';

let origin: string;
const parley = await startParley();
({ origin } = new URL(parley.baseUrl));
afterAll(() => parley.close());

const rpc = '/parley.catalog.v1.CatalogService/ListModels';
const recordOf = (id: string | null | undefined) =>
  parley.recordOf(new Response(null, { headers: { 'x-request-id': id ?? '' } }));

const versions = ['1.1', '2'] as const;
type Open = (baseUrl: string, httpVersion: '1.1' | '2') => Transport;
const transports: [string, string, Open][] = [
  [
    ...(['Connect in JSON', 'connect'] as const),
    (baseUrl, httpVersion) => createConnectTransport({ baseUrl, httpVersion, useBinaryFormat: false }),
  ],
  [
    ...(['Connect in binary', 'connect'] as const),
    (baseUrl, httpVersion) => createConnectTransport({ baseUrl, httpVersion, useBinaryFormat: true }),
  ],
  [
    ...(['gRPC-Web', 'grpc-web'] as const),
    (baseUrl, httpVersion) => createGrpcWebTransport({ baseUrl, httpVersion }),
  ],
];

describe.each(transports)('a wrong path over %s', (_, wire, open) => {
  it.each(versions)('is reported to a unary call and to a stream, over HTTP/%s', async (version) => {
    for (const prefix of ['/nowhere', '/api/v1']) {
      const transport = open(origin + prefix, version);
      const { headers } = bearer(parley.apiKey);
      const calls = [
        () => createClient(CatalogService, transport).listModels({}, { headers }),
        async () => {
          for await (const _ of createClient(ChatService, transport).streamChatCompletion({}, { headers }));
        },
      ];
      for (const call of calls) {
        const error = await call().then(
          () => undefined,
          (reason) => reason,
        );
        expect(error).toMatchObject({ code: Code.Unimplemented });
        const [info] = error.findDetails(ErrorInfoSchema);
        expect(info).toMatchObject({ reason: 'not_found', metadata: { http_status: '404' } });
        const record = await recordOf(info.metadata['request_id']);
        expect(record).toMatchObject({ wire, state: 'refused', code: 'not_found', httpStatus: 404 });
      }
    }
  });
});

describe('a request that no client library sends', () => {
  const send = (path: string, init: RequestInit) =>
    fetch(origin + path, { ...init, headers: { ...bearer(parley.apiKey).headers, ...init.headers } });
  const type = (contentType: string) => ({ 'content-type': contentType });

  it.each<[string, string, RequestInit, number, string, string]>([
    [
      'to a method that a service lacks',
      `${rpc}s`,
      { method: 'POST', body: '{}' },
      404,
      'connect',
      'unimplemented',
    ],
    ['with GET', rpc, {}, 405, 'connect', 'invalid_argument'],
    ['with GET and a query', `${rpc}?connect=v1&encoding=json`, {}, 405, 'connect', 'invalid_argument'],
    ['with GET to a path that is not there', `${rpc}s`, {}, 404, 'connect', 'unimplemented'],
    [
      'of a type that is none',
      rpc,
      { method: 'POST', headers: type('text/plain') },
      415,
      'connect',
      'invalid_argument',
    ],
    [
      ...(['of the type of streams to a unary call', rpc] as const),
      { method: 'POST', headers: type('application/connect+json') },
      ...([415, 'connect', 'invalid_argument'] as const),
    ],
    [
      ...(['with the header of Connect', '/nowhere'] as const),
      { method: 'POST', headers: { ...type('application/json'), 'connect-protocol-version': '1' } },
      ...([404, 'connect', 'unimplemented'] as const),
    ],
  ])('%s gets the error of Connect', async (_, path, init, status, wire, code) => {
    const answer = await send(path, init);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(await answer.json()).toEqual({
      code,
      message: expect.any(String),
      details: [expect.objectContaining({ type: 'google.rpc.ErrorInfo' })],
    });
    const record = await recordOf(answer.headers.get('x-request-id'));
    expect(record).toMatchObject({ wire, httpStatus: status, state: 'refused' });
  });

  it.each<[string, string, RequestInit, number, number]>([
    ['with GET', rpc, { headers: type('application/grpc-web+proto') }, 405, 3],
    [
      'to a wrong path with PUT',
      '/nowhere',
      { method: 'PUT', headers: type('application/grpc-web') },
      200,
      12,
    ],
  ])('%s gets the trailers of gRPC-Web', async (_, path, init, status, code) => {
    const answer = await send(path, init);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('application/grpc-web+proto');
    const body = Buffer.from(await answer.arrayBuffer());
    expect(body[0]).toBe(0x80);
    expect(body.subarray(5).toString()).toMatch(new RegExp(`grpc-status: ${code}\\r\\n`));
    const record = await recordOf(answer.headers.get('x-request-id'));
    expect(record).toMatchObject({ wire: 'grpc-web', state: 'refused' });
  });

  it.each<[string, RequestInit]>([
    ['/nowhere', { method: 'POST', headers: type('application/json') }],
    ['/api/v1/audio/speech', { headers: type('application/json') }],
    ['/nowhere', {}],
  ])('%s stays REST without a sign of an RPC', async (path, init) => {
    const answer = await send(path, init);
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ error: { code: 'not_found', param: null } });
    expect(await recordOf(answer.headers.get('x-request-id'))).toMatchObject({ wire: 'rest' });
  });

  it('without a valid key is answered in the same way, and leaves no record', async () => {
    const answer = await fetch(`${origin}${rpc}s`, { method: 'POST', body: '{}' });
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ code: 'unimplemented' });
  });
});

it('a REST path stays REST, with any content type', async () => {
  const body = JSON.stringify({ model: 'eliza', messages: [{ role: 'user', content: 'Hello.' }] });
  const headers = { 'content-type': 'application/connect+json', 'connect-protocol-version': '1' };
  const answer = await parley.call('/chat/completions', { method: 'POST', body, headers });
  expect(answer.status).toBe(200);
  expect(await recordOf(answer.headers.get('x-request-id'))).toMatchObject({ wire: 'rest', state: 'ok' });
});
