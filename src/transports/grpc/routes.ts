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
  type sendUnaryData,
  type UntypedHandleCall,
} from '@grpc/grpc-js';
import type { Batches } from '../../core/batches.ts';
import { Deadline } from '../../core/deadline.ts';
import { answerEncoder } from '../../core/encode-once.ts';
import { type ParleyError, toParleyError } from '../../core/errors.ts';
import { logFailure } from '../../core/failure-log.ts';
import type { RequestId } from '../../core/ids.ts';
import { statusCode, statusDetails } from '../rpc/errors.ts';
import { joinPieces } from '../rpc/join-pieces.ts';
import { decodeRequest } from '../rpc/request-size.ts';
import {
  type AnyRpc,
  type IncomingCall,
  nextRequestId,
  type RpcDeps,
  serveBidi,
  serveClientStream,
  serveServerStream,
  serveUnary,
} from '../run-call.ts';

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
  getPeer(): string;
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
  const serve = streamHandlerOf(server);
  return (stream, headers) => {
    joinPieces(stream);
    serve(stream, headers);
  };
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

function definitionOf(rpc: AnyRpc) {
  const { method } = rpc;
  const { input, output, methodKind } = method;
  const operation = 'operation' in rpc ? rpc.operation : undefined;
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: methodKind === 'client_streaming' || methodKind === 'bidi_streaming',
    responseStream: methodKind === 'server_streaming' || methodKind === 'bidi_streaming',
    requestSerialize: (message: Message) => bytesOf(toBinary(input, message)),
    requestDeserialize: (bytes: Buffer): Message => decodeRequest(input, bytes),
    responseSerialize: answerEncoder(operation, (message: Message) => bytesOf(toBinary(output, message))),
    responseDeserialize: (bytes: Buffer): Message => fromBinary(output, bytes),
  };
}

/** The same bytes as the Buffer that grpc-js wants, not a copy of them. */
function bytesOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
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
  return (call, respond) =>
    void answerOnce(call, respond, deps, (incoming) => serveUnary(rpc, call.request, incoming, deps));
}

function clientStreamHandler(rpc: AnyRpc, deps: RpcDeps): handleClientStreamingCall<Message, Message> {
  return (call, respond) =>
    void answerOnce(call, respond, deps, (incoming) =>
      serveClientStream(rpc, requestsOf(call), incoming, deps),
    );
}

function serverStreamHandler(rpc: AnyRpc, deps: RpcDeps): handleServerStreamingCall<Message, Message> {
  return (call) =>
    void answerInParts(call, deps, (incoming) => serveServerStream(rpc, call.request, incoming, deps));
}

function bidiHandler(rpc: AnyRpc, deps: RpcDeps): handleBidiStreamingCall<Message, Message> {
  return (call) => void answerInParts(call, deps, (incoming) => serveBidi(rpc, requestsOf(call), incoming));
}

/** Leaving the loop over them must not destroy the call: its answer has to go out on it. */
function requestsOf(call: Readable): AsyncIterable<Message> {
  return { [Symbol.asyncIterator]: () => call.iterator({ destroyOnReturn: false }) };
}

async function answerOnce(
  call: AnyCall,
  respond: sendUnaryData<Message>,
  deps: RpcDeps,
  run: (incoming: IncomingCall) => Promise<Message>,
): Promise<void> {
  const served = new ServedCall(call, deps);
  try {
    const response = await run(served.incoming);
    served.begin();
    respond(null, response);
  } catch (error) {
    served.begin();
    respond(serviceError(error, served.incoming.id, deps));
  } finally {
    served.stop();
  }
}

async function answerInParts(
  call: WritableCall,
  deps: RpcDeps,
  run: (incoming: IncomingCall) => Batches<Message>,
): Promise<void> {
  const served = new ServedCall(call, deps);
  try {
    await writeAll(call, run(served.incoming), served);
    served.begin();
    call.end();
  } catch (error) {
    served.begin();
    call.emit('error', serviceError(error, served.incoming.id, deps));
  } finally {
    served.stop();
  }
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
async function writeAll(call: WritableCall, batches: Batches<Message>, served: ServedCall): Promise<void> {
  for await (const parts of batches) {
    served.begin();
    for (const part of parts) if (!call.write(part)) await drained(call, served.incoming.signal);
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

/** A call while it is served: what came in with it, and the head of its answer. */
class ServedCall {
  readonly incoming: IncomingCall;
  readonly #call: AnyCall;
  readonly #clock: Deadline;
  #hasBegun = false;

  constructor(call: AnyCall, deps: RpcDeps) {
    this.#call = call;
    this.#clock = new Deadline(deps.requestMsMax);
    // Also when its deadline has passed.
    call.on('cancelled', () => this.#clock.cancel());
    if (call.cancelled) this.#clock.cancel();
    this.incoming = {
      id: nextRequestId(deps),
      wire: 'grpc',
      authorization: textOf(call.metadata, 'authorization'),
      address: addressOf(call.getPeer()),
      traceHeaders: {
        traceparent: textOf(call.metadata, 'traceparent'),
        tracestate: textOf(call.metadata, 'tracestate'),
      },
      idempotencyKey: textOf(call.metadata, 'idempotency-key'),
      signal: this.#clock.signal,
      isReplay: false,
    };
  }

  /** Sends the head of the answer, unless it has gone out already. */
  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const head = new Metadata();
    head.set('x-request-id', this.incoming.id);
    if (this.incoming.isReplay) head.set('idempotent-replayed', 'true');
    this.#call.sendMetadata(head);
  }

  stop(): void {
    this.#clock.stop();
  }
}

function textOf(metadata: Metadata, name: string): string | undefined {
  const [value] = metadata.get(name);
  return typeof value === 'string' ? value : undefined;
}

function serviceError(thrown: unknown, id: RequestId, { log }: RpcDeps): ServiceError {
  const error: ParleyError = toParleyError(thrown);
  logFailure(log, id, error);
  const metadata = new Metadata();
  metadata.set('grpc-status-details-bin', Buffer.from(statusDetails(error, id)));
  const status: StatusObject = { code: statusCode(error), details: error.message, metadata };
  return Object.assign(new Error(error.message), status);
}

/** Without the port, of `127.0.0.1:5000` and of `[::1]:5000` alike. */
function addressOf(peer: string): string {
  return peer.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
}
