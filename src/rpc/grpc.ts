/** The services over gRPC, by grpc-js. */
import { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
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
}

/** Serves one HTTP/2 stream, of a connection that it has no part in. */
export type GrpcHandler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

/** What the calls of all kinds have in common. */
interface AnyCall {
  readonly metadata: Metadata;
  readonly cancelled: boolean;
  sendMetadata(metadata: Metadata): void;
  on(event: 'cancelled', listener: () => void): unknown;
}

/**
 * Serves the RPCs on a server that listens nowhere and is handed streams.
 * @throws where this grpc-js does not let its streams be handed in
 */
export function createGrpcHandler(rpcs: readonly AnyRpc[], limits: GrpcLimits, deps: RpcDeps): GrpcHandler {
  const server = new Server({
    'grpc.max_receive_message_length': limits.messageBytesMax,
    'grpc.max_send_message_length': -1,
    'grpc.enable_channelz': 0,
  });
  for (const rpc of rpcs) {
    const { name } = rpc.method;
    server.addService({ [name]: definitionOf(rpc) }, { [name]: handlerOf(rpc, deps) });
  }
  server.createConnectionInjector(ServerCredentials.createInsecure());
  return streamHandlerOf(server);
}

/**
 * What the server does with a stream. grpc-js has no public way to share a connection with other protocols, and watches
 * its own streams only, so the connections are not its own here; this leans on a private field, which a test watches over.
 */
function streamHandlerOf(server: Server): GrpcHandler {
  const servers: unknown = Reflect.get(server, 'http2Servers');
  const [http2] = servers instanceof Map ? servers.keys() : [];
  const [handler] = http2 instanceof EventEmitter ? http2.listeners('stream') : [];
  if (handler !== undefined) return handler as GrpcHandler;
  throw new Error('This version of @grpc/grpc-js serves its streams elsewhere. Install the pinned one.');
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
      .finally(() => begin(call, incoming))
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
      .finally(() => begin(call, incoming))
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
  return writeAll(call, parts, incoming)
    .finally(() => begin(call, incoming))
    .then(
      () => {
        call.end();
      },
      (error: unknown) => {
        call.emit('error', serviceError(error, incoming.id, deps));
      },
    );
}

/** What the calls that answer with a stream have in common. */
interface WritableCall extends AnyCall {
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
  incoming: IncomingCall,
): Promise<void> {
  for await (const part of parts) {
    begin(call, incoming);
    if (!call.write(part)) await drained(call, incoming.signal);
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
  if (call.cancelled) clock.cancel();
  const incoming: IncomingCall = {
    id,
    wire: 'grpc',
    authorization: textOf(call.metadata, 'authorization'),
    idempotencyKey: textOf(call.metadata, 'idempotency-key'),
    signal: clock.signal,
    isReplay: false,
  };
  return { incoming, stop: () => clock.stop() };
}

/** Sends the head of the answer, unless it has gone out already. */
function begin(call: AnyCall, { id, isReplay }: IncomingCall): void {
  const head = new Metadata();
  head.set('x-request-id', id);
  if (isReplay) head.set('idempotent-replayed', 'true');
  call.sendMetadata(head);
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
