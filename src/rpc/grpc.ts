/** The services over gRPC, by grpc-js. */
import { EventEmitter } from 'node:events';
import type { Http2Server } from 'node:http2';
import type { Readable } from 'node:stream';
import { fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import {
  type handleBidiStreamingCall,
  type handleClientStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  Server,
  ServerCredentials,
  type ServiceError,
  type StatusObject,
  type UntypedHandleCall,
} from '@grpc/grpc-js';
import { type ParleyError, toParleyError } from '../core/errors.ts';
import type { RequestId } from '../core/ids.ts';
import {
  type AnyRpc,
  CallClock,
  type IncomingCall,
  nextRequestId,
  type RpcDeps,
  serveBidi,
  serveClientStream,
  serveServerStream,
  serveUnary,
} from './serve.ts';
import { statusCode, statusDetails } from './status.ts';

export interface GrpcLimits {
  /** Bytes of a message after decompression. */
  readonly messageBytesMax: number;
  readonly streamsPerConnectionMax: number;
  readonly idleMs: number;
  readonly pingEveryMs: number;
  readonly pingTimeoutMs: number;
  readonly headerBytesMax: number;
}

export interface GrpcServer {
  /** Sockets that speak HTTP/2 are handed to it. */
  readonly http2: Http2Server;
  readonly server: Server;
}

/** What the calls of all kinds have in common. */
interface AnyCall {
  readonly metadata: Metadata;
  sendMetadata(metadata: Metadata): void;
  on(event: 'cancelled', listener: () => void): unknown;
}

/**
 * Serves the RPCs on a server that listens nowhere.
 * @throws where this grpc-js does not let its HTTP/2 server be shared
 */
export function createGrpcServer(rpcs: readonly AnyRpc[], limits: GrpcLimits, deps: RpcDeps): GrpcServer {
  const server = new Server({
    'grpc.max_receive_message_length': limits.messageBytesMax,
    'grpc.max_send_message_length': -1,
    'grpc.max_concurrent_streams': limits.streamsPerConnectionMax,
    'grpc.max_connection_idle_ms': limits.idleMs,
    'grpc.keepalive_time_ms': limits.pingEveryMs,
    'grpc.keepalive_timeout_ms': limits.pingTimeoutMs,
    'grpc.max_metadata_size': limits.headerBytesMax,
    'grpc.enable_channelz': 0,
  });
  for (const rpc of rpcs) {
    const { name } = rpc.method;
    server.addService({ [name]: definitionOf(rpc) }, { [name]: handlerOf(rpc, deps) });
  }
  server.createConnectionInjector(ServerCredentials.createInsecure());
  return { http2: http2ServerOf(server), server };
}

/**
 * The HTTP/2 server inside. grpc-js has no public way to share a connection with other protocols; this leans on a private
 * field, which a test watches over.
 */
function http2ServerOf(server: Server): Http2Server {
  const servers: unknown = Reflect.get(server, 'http2Servers');
  const [http2] = servers instanceof Map ? servers.keys() : [];
  if (http2 instanceof EventEmitter) return http2 as Http2Server;
  throw new Error('This version of @grpc/grpc-js keeps its HTTP/2 server elsewhere. Install the pinned one.');
}

function definitionOf({ method }: AnyRpc) {
  const { input, output, methodKind } = method;
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: methodKind === 'client_streaming' || methodKind === 'bidi_streaming',
    responseStream: methodKind === 'server_streaming' || methodKind === 'bidi_streaming',
    requestSerialize: (message: Message) => Buffer.from(toBinary(input, message)),
    requestDeserialize: (bytes: Buffer): Message => fromBinary(input, bytes),
    responseSerialize: (message: Message) => Buffer.from(toBinary(output, message)),
    responseDeserialize: (bytes: Buffer): Message => fromBinary(output, bytes),
  };
}

function handlerOf(rpc: AnyRpc, deps: RpcDeps): UntypedHandleCall {
  switch (rpc.method.methodKind) {
    case 'unary':
      return unaryHandler(rpc, deps);
    case 'server_streaming':
      return serverStreamHandler(rpc, deps);
    case 'client_streaming':
      return clientStreamHandler(rpc, deps);
    case 'bidi_streaming':
      return bidiHandler(rpc, deps);
  }
}

function unaryHandler(rpc: AnyRpc, deps: RpcDeps): handleUnaryCall<Message, Message> {
  return (call, respond) => {
    const { incoming, stop } = receive(call, deps);
    serveUnary(rpc, call.request, incoming, deps)
      .then(
        (response) => respond(null, response),
        (error: unknown) => respond(serviceError(error, incoming.id, deps)),
      )
      .finally(stop);
  };
}

function clientStreamHandler(rpc: AnyRpc, deps: RpcDeps): handleClientStreamingCall<Message, Message> {
  return (call, respond) => {
    const { incoming, stop } = receive(call, deps);
    serveClientStream(rpc, requestsOf(call), incoming, deps)
      .then(
        (response) => respond(null, response),
        (error: unknown) => respond(serviceError(error, incoming.id, deps)),
      )
      .finally(stop);
  };
}

function serverStreamHandler(rpc: AnyRpc, deps: RpcDeps): handleServerStreamingCall<Message, Message> {
  return (call) => {
    const { incoming, stop } = receive(call, deps);
    const parts = serveServerStream(rpc, call.request, incoming, deps);
    answerWith(call, parts, incoming, deps).finally(stop);
  };
}

function bidiHandler(rpc: AnyRpc, deps: RpcDeps): handleBidiStreamingCall<Message, Message> {
  return (call) => {
    const { incoming, stop } = receive(call, deps);
    answerWith(call, serveBidi(rpc, requestsOf(call), incoming), incoming, deps).finally(stop);
  };
}

/** Leaving the loop over them must not destroy the call: its answer has to go out on it. */
function requestsOf(call: Readable): AsyncIterable<Message> {
  return { [Symbol.asyncIterator]: () => call.iterator({ destroyOnReturn: false }) };
}

function answerWith(
  call: WritableCall,
  parts: AsyncIterable<Message>,
  incoming: IncomingCall,
  deps: RpcDeps,
): Promise<void> {
  return writeAll(call, parts, incoming.signal).then(
    () => {
      call.end();
    },
    (error: unknown) => {
      call.emit('error', serviceError(error, incoming.id, deps));
    },
  );
}

/** What the calls that answer with a stream have in common. */
interface WritableCall {
  write(message: Message): boolean;
  end(): unknown;
  emit(event: 'error', error: ServiceError): boolean;
  once(event: 'drain', listener: () => void): unknown;
  off(event: 'drain', listener: () => void): unknown;
}

/** Writes with backpressure: a slow client slows the engine. */
async function writeAll(
  call: WritableCall,
  parts: AsyncIterable<Message>,
  signal: AbortSignal,
): Promise<void> {
  for await (const part of parts) {
    if (!call.write(part)) await drained(call, signal);
  }
}

function drained(call: WritableCall, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (then: () => void) => () => {
      call.off('drain', onDrain);
      signal.removeEventListener('abort', onAbort);
      then();
    };
    const onDrain = settle(resolve);
    const onAbort = settle(() => reject(signal.reason));
    call.once('drain', onDrain);
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
  });
}

function receive(call: AnyCall, deps: RpcDeps): { incoming: IncomingCall; stop: () => void } {
  const clock = new CallClock(deps.requestMsMax);
  const id = nextRequestId(deps);
  // Also when its deadline has passed.
  call.on('cancelled', () => clock.cancel());
  const head = new Metadata();
  head.set('x-request-id', id);
  call.sendMetadata(head);
  const incoming: IncomingCall = {
    id,
    wire: 'grpc',
    authorization: textOf(call.metadata, 'authorization'),
    idempotencyKey: textOf(call.metadata, 'idempotency-key'),
    signal: clock.signal,
  };
  return { incoming, stop: () => clock.stop() };
}

function textOf(metadata: Metadata, name: string): string | undefined {
  const [value] = metadata.get(name);
  return typeof value === 'string' ? value : undefined;
}

function serviceError(thrown: unknown, id: RequestId, { log }: RpcDeps): ServiceError {
  const error: ParleyError = toParleyError(thrown);
  if (error.code === 'internal_error' || error.code === 'upstream_error') {
    log.error({ requestId: id, err: error.cause ?? error }, error.message);
  }
  const metadata = new Metadata();
  metadata.set('grpc-status-details-bin', Buffer.from(statusDetails(error, id)));
  const status: StatusObject = { code: statusCode(error), details: error.message, metadata };
  return Object.assign(new Error(error.message), status);
}
