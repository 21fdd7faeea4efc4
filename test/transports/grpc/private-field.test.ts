/**
 * Checks the internals of grpc-js and of Node on which the gRPC transport relies, so that an upgrade fails here first.
 * grpc-js has no public way to serve a stream of a connection that it shares with other protocols.
 */

import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, createServer } from 'node:http2';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { requestTimeLimit } from '../../../src/core/values/signal.ts';
import { createGrpcHandler } from '../../../src/transports/grpc/routes.ts';
import { openRpcs } from '../../../src/transports/rpc/open-rpcs.ts';
import { startConnected } from '../../support/connected-parley.ts';

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

function manifestOf(path: string): Manifest {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
}

describe('the version of grpc-js', () => {
  const pinned = manifestOf('../../../package.json').dependencies['@grpc/grpc-js'];

  it('is pinned exactly', () => {
    expect(pinned).toMatch(/^\d+\.\d+\.\d+$/);
  });

  it('is installed', () => {
    expect(manifestOf('../../../node_modules/@grpc/grpc-js/package.json').version).toBe(pinned);
  });
});

describe('grpc-js', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('keeps its HTTP/2 server in a private map, with one listener for streams', () => {
    const server = new Server();
    server.createConnectionInjector(ServerCredentials.createInsecure());
    const servers: unknown = Reflect.get(server, 'http2Servers');
    expect(servers).toBeInstanceOf(Map);
    const [http2, ...others] = (servers as Map<unknown, unknown>).keys();
    expect(others).toEqual([]);
    expect(http2).toBeInstanceOf(EventEmitter);
    const listeners = (http2 as EventEmitter).listeners('stream');
    expect(listeners).toHaveLength(1);
    expect(listeners[0]).toHaveLength(2);
  });

  it.each<[string, unknown]>([
    ['has no such map', undefined],
    ['has no server in it', new Map()],
    ['has a server that listens to no streams', new Map([[new EventEmitter(), {}]])],
  ])('is refused with advice if it %s', (_, servers) => {
    vi.spyOn(Server.prototype, 'createConnectionInjector').mockImplementation(function (this: Server) {
      Reflect.set(this, 'http2Servers', servers);
      return { injectConnection: () => undefined, drain: () => undefined, destroy: () => undefined };
    });
    const deps = { timeLimit: requestTimeLimit(1000) } as Parameters<typeof createGrpcHandler>[2];
    expect(() =>
      createGrpcHandler(
        openRpcs([], { whyNot: () => undefined, isStopping: false, onChange: () => undefined }),
        { messageBytesMax: 1000, requestElementsMax: 100 },
        deps,
      ),
    ).toThrow(/Install the pinned one/);
  });
});

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
