/** gRPC shares a connection with the other protocols. Checks also the internals of Node on which that relies. */

import { type ClientHttp2Session, createServer } from 'node:http2';
import { afterAll, describe, expect, it } from 'vitest';
import { startConnected } from '../../support/connected-parley.ts';

describe('Node', () => {
  it('turns streams into requests with one listener, added with the first one for requests', () => {
    const server = createServer();
    server.removeAllListeners('stream');
    server.on('request', () => undefined);
    expect(server.listenerCount('stream')).toBe(1);
    server.on('request', () => undefined);
    expect(server.listenerCount('stream')).toBe(1);
  });
});

interface Reply {
  readonly contentType: string | undefined;
  readonly status: string | undefined;
  readonly grpcStatus: string | undefined;
}

function post(
  session: ClientHttp2Session,
  path: string,
  contentType: string,
  body: string | Buffer,
): Promise<Reply> {
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': contentType,
    te: 'trailers',
  });
  stream.end(body);
  return new Promise((resolve, reject) => {
    let head: Record<string, unknown> = {};
    let trailers: Record<string, unknown> = {};
    stream.on('response', (headers) => {
      head = headers;
    });
    stream.on('trailers', (headers) => {
      trailers = headers;
    });
    stream.on('error', reject);
    stream.on('close', () => {
      const text = (value: unknown) => (value === undefined ? undefined : String(value));
      resolve({
        contentType: text(head['content-type']),
        status: text(head[':status']),
        grpcStatus: text(trailers['grpc-status'] ?? head['grpc-status']),
      });
    });
    stream.resume();
  });
}

describe('one HTTP/2 connection', async () => {
  const { session, close } = await startConnected();
  afterAll(close);

  const check = '/grpc.health.v1.Health/Check';
  /** An empty message in its envelope. */
  const envelope = Buffer.alloc(5);

  it.each(['application/grpc', 'application/grpc+proto', 'application/grpc;v=1'])(
    'has gRPC for %s',
    async (type) => {
      const reply = await post(session, check, type, envelope);
      expect(reply).toEqual({ contentType: 'application/grpc+proto', status: '200', grpcStatus: '0' });
    },
  );

  it('answers an unknown gRPC method as UNIMPLEMENTED', async () => {
    const reply = await post(session, `${check}s`, 'application/grpc', envelope);
    expect(reply).toMatchObject({ status: '200', grpcStatus: '12' });
  });

  it('has gRPC-Web', async () => {
    const reply = await post(session, check, 'application/grpc-web+proto', envelope);
    expect(reply).toMatchObject({ contentType: 'application/grpc-web+proto', status: '200' });
  });

  it('has Connect', async () => {
    const reply = await post(session, check, 'application/json', '{}');
    expect(reply).toMatchObject({ contentType: 'application/json', status: '200' });
  });

  it('has REST', async () => {
    const reply = await post(session, '/api/v1/chat/completions', 'application/json', '{}');
    expect(reply).toMatchObject({ contentType: 'application/json', status: '401' });
  });

  it('has all of them at once', async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        post(
          session,
          check,
          index % 2 ? 'application/grpc' : 'application/json',
          index % 2 ? envelope : '{}',
        ),
      ),
    );
    expect(replies.map(({ grpcStatus }) => grpcStatus ?? 'Connect')).toEqual(
      replies.map((_, index) => (index % 2 ? '0' : 'Connect')),
    );
  });
});
