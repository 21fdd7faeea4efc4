/** Every answer forbids browsers to guess its type: successes, errors, streams and pages, over both versions of HTTP. */
import { connect } from 'node:http2';
import { afterAll, expect, it } from 'vitest';
import { startParley } from '../../support/parley.ts';

const pages = new Map([['docs/index.html', Buffer.from('<p>The reference</p>')]]);
const parley = await startParley({ pages });
afterAll(() => parley.close());

const rpc = '/parley.catalog.v1.CatalogService/ListModels';
const chat = { model: 'eliza', messages: [{ role: 'user', content: 'Hello.' }] };

interface Sent {
  readonly type?: string;
  readonly body?: string;
  readonly status?: number;
}

it.each<[string, Sent]>([
  ['/api/v1/models', {}],
  ['/api/v1/nowhere', { status: 404 }],
  ['/api/v1/audio/speech', { body: '{}', status: 400 }],
  ['/api/v1/audio/speech', { body: JSON.stringify({ model: 'flite', input: 'Hello.' }) }],
  ['/api/v1/chat/completions', { body: JSON.stringify(chat) }],
  ['/api/v1/chat/completions', { body: JSON.stringify({ ...chat, stream: true }) }],
  ['/healthz', {}],
  ['/docs', {}],
  [rpc, { type: 'application/json', body: '{}' }],
  [rpc, { type: 'application/json', body: '[', status: 400 }],
  [rpc, { type: 'application/grpc-web+proto', body: '\0\0\0\0\0' }],
  [rpc, { type: 'text/plain', body: '{}', status: 415 }],
])('%s, sent %j', async (path, { type, body, status = 200 }) => {
  const method = body === undefined ? 'GET' : 'POST';
  const headers = { authorization: `Bearer ${parley.apiKey}`, ...(type && { 'content-type': type }) };
  const { origin } = new URL(parley.baseUrl);
  const answer = await fetch(origin + path, { method, headers, ...(body && { body }) });
  await answer.arrayBuffer();
  expect(answer.status).toBe(status);
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');

  const session = connect(origin);
  const stream = session.request({ ':path': path, ':method': method, ...headers });
  const answered = new Promise<Record<string, unknown>>((resolve) => stream.once('response', resolve));
  stream.end(body);
  expect(await answered).toMatchObject({ ':status': status, 'x-content-type-options': 'nosniff' });
  session.destroy();
});
