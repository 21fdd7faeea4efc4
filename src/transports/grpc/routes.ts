/** Serves the RPCs over gRPC with grpc-js. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http2';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { keepOpen } from '../http/http2-stream.ts';
import type { StreamHandler } from '../http/server.ts';
import { requestHead, takeKeyHeader } from '../request-head.ts';
import { joinPieces } from '../rpc/join-pieces.ts';
import { noSuchMethod } from '../rpc/request-errors.ts';
import { type AnyRpc, type RpcLimits, rpcPath } from '../rpc/rpcs.ts';
import { readTimeout } from '../rpc/timeout.ts';
import { type CallDeps, ServedCall } from '../run-call.ts';
import { refuse } from './errors.ts';
import { receiveFrom, unpackerOf } from './request.ts';
import { AnswerStream, answer, encoderOf, type GrpcCall } from './response.ts';

/** The listener with which grpc-js serves one HTTP/2 stream, on a connection that other protocols may share. */
type GrpcHandler = (stream: AnswerStream, headers: IncomingHttpHeaders) => void;

/** Answers a call that the gate has opened. */
type Answer = (call: GrpcCall) => void;

/**
 * Passes streams to a grpc-js server that does not listen itself. A stream arrives there only after the gate has opened
 * its call; until then nothing of the body is read.
 * @throws if this version of grpc-js does not accept streams from outside
 */
export function createGrpcHandler(rpcs: readonly AnyRpc[], limits: RpcLimits, deps: CallDeps): StreamHandler {
  const opened = new AsyncLocalStorage<Answer>();
  const serve = grpcHandler(rpcs, (call) => opened.getStore()?.(call));
  const routes = new Map(rpcs.map((rpc) => [rpcPath(rpc), { rpc, encode: encoderOf(rpc) }]));
  return (stream, headers, client) => {
    const route = routes.get(headers[':path'] ?? '');
    takeKeyHeader(headers);
    const head = requestHead('grpc', client, headers);
    const served = new ServedCall(head, deps, route?.rpc.kind);
    if (route === undefined) {
      served.refuseUnserved(noSuchMethod()).catch((error: unknown) => refuse(stream, error, served));
      return served.finish();
    }
    const { rpc, encode } = route;
    let isRunning = false;
    stream.on('close', () => served.close(isRunning || stream.aborted));
    const open = async () => {
      await served.open(rpc);
      if (rpc.kind === 'session') keepOpen(stream);
      const unpack = unpackerOf(head.header('grpc-encoding'));
      const timeout = readTimeout(head);
      if (timeout) headers[timeout[0]] = timeout[1];
      // grpc-js accepts only lower case.
      headers['content-type'] = headers['content-type']?.toLowerCase();
      // The client has left: the record ends when the stream closes.
      if (stream.destroyed || stream.closed) return;
      isRunning = true;
      joinPieces(stream);
      const request = () => receiveFrom(stream, unpack, rpc, limits, served);
      const run = (call: GrpcCall) => void answer(rpc, request, call, served, encode);
      opened.run(run, serve, new AnswerStream(stream), headers);
    };
    open().catch((error: unknown) => refuse(stream, error, served));
  };
}

/** A grpc-js server as the function that serves one stream. All its RPCs are streams of bytes in both directions. */
function grpcHandler(rpcs: readonly AnyRpc[], handle: Answer): GrpcHandler {
  const server = new Server({ 'grpc.max_send_message_length': -1, 'grpc.enable_channelz': 0 });
  const asIs = (bytes: Buffer) => bytes;
  const form = {
    requestStream: true,
    responseStream: true,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
  for (const rpc of rpcs) {
    const { name } = rpc.method;
    server.addService({ [name]: { ...form, path: rpcPath(rpc) } }, { [name]: handle });
  }
  server.createConnectionInjector(ServerCredentials.createInsecure());
  return streamHandlerOf(server);
}

/**
 * The server's own listener for streams. grpc-js cannot share a connection with other protocols, so this reads a
 * private field, which a test checks.
 */
function streamHandlerOf(server: Server): GrpcHandler {
  const servers: unknown = Reflect.get(server, 'http2Servers');
  const [http2] = servers instanceof Map ? servers.keys() : [];
  const [handler] = http2 instanceof EventEmitter ? http2.listeners('stream') : [];
  if (handler !== undefined) return handler as GrpcHandler;
  throw new Error('This version of @grpc/grpc-js serves its streams elsewhere. Install the pinned one.');
}
