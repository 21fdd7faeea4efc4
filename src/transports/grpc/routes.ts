/** Serves the RPCs over gRPC with grpc-js. */
import { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import {
  type handleBidiStreamingCall,
  type handleClientStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerWritableStream,
  type ServiceError,
  type sendUnaryData,
  type UntypedHandleCall,
} from '@grpc/grpc-js';
import { ParleyError } from '../../core/values/errors.ts';
import type { Signal } from '../../core/values/signal.ts';
import { drained } from '../drained.ts';
import { answerEncoder } from '../encode-once.ts';
import { keepOpen } from '../http/http2-stream.ts';
import type { StreamHandler } from '../http/server.ts';
import { requestHead, takeKeyHeader } from '../request-head.ts';
import { joinPieces } from '../rpc/join-pieces.ts';
import { noSuchMethod } from '../rpc/request-errors.ts';
import {
  type AnyRpc,
  answerRpc,
  isRequestStream,
  messageBytesMax,
  type Responses,
  type RpcLimits,
  requestLimits,
  rpcPath,
  type Sent,
  streamRpc,
} from '../rpc/rpcs.ts';
import { readTimeout } from '../rpc/timeout.ts';
import { type CallDeps, ServedCall } from '../run-call.ts';
import { admitBody, checkEncoding } from './admission.ts';
import { explainOwnErrors, refuse, sendPlainTrailers, serviceError } from './errors.ts';
import { Frames } from './frames.ts';
import { decodeRequest, type Received, requestsOf } from './request.ts';
import { asBuffer, streamEncoder } from './stream-bytes.ts';

/** The listener with which grpc-js serves one HTTP/2 stream, on a connection that other protocols may share. */
type GrpcHandler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

/** A call that the gate has opened, and its body. */
interface OpenedCall {
  readonly served: ServedCall;
  readonly frames: Frames;
}

/** Carries the id of a call's ServedCall to its handler. Overwrites any value that a client sends. */
const servedHeader = 'x-parley-served';

/** The members that all kinds of grpc-js calls have. */
interface AnyCall {
  readonly metadata: Metadata;
  readonly cancelled: boolean;
  sendMetadata(metadata: Metadata): void;
  on(event: 'cancelled', listener: () => void): unknown;
}

/**
 * Passes streams to a grpc-js server that does not listen itself. A stream arrives there only after the gate has opened
 * its call; until then nothing of the body is read.
 * @throws if this version of grpc-js does not accept streams from outside
 */
export function createGrpcHandler(rpcs: readonly AnyRpc[], limits: RpcLimits, deps: CallDeps): StreamHandler {
  const calls = new Map<string, OpenedCall>();
  // One server per limit, as a grpc-js server has one limit for all its methods.
  const bytesOf = (rpc: AnyRpc) => messageBytesMax(rpc, limits.messageBytesMax);
  const serverFor = (some: readonly AnyRpc[], bytes: number) =>
    serverOf(some, { ...limits, messageBytesMax: bytes }, calls);
  const serves = new Map(
    [...Map.groupBy(rpcs, bytesOf)].map(([bytes, some]) => [bytes, serverFor(some, bytes)]),
  );
  const byPath = new Map(rpcs.map((rpc) => [rpcPath(rpc), rpc]));
  return (stream, headers, client) => {
    const rpc = byPath.get(headers[':path'] ?? '');
    takeKeyHeader(headers);
    const head = requestHead('grpc', client, headers);
    const served = new ServedCall(head, deps, rpc?.kind);
    if (rpc === undefined) {
      served.refuseUnserved(noSuchMethod()).catch((error: unknown) => refuse(stream, error, served));
      return served.finish();
    }
    stream.on('close', () => {
      // A handler removes its call from the map, and calls `finish` when the answer is complete.
      const hasRun = !calls.delete(served.id);
      served.close(hasRun || stream.aborted);
    });
    const open = async () => {
      await served.open(rpc);
      if (rpc.kind === 'session') keepOpen(stream);
      checkEncoding(head.header('grpc-encoding'));
      const timeout = readTimeout(head);
      joinPieces(stream);
      await admitBody(stream, rpc, served, limits.messageBytesMax);
      if (timeout) headers[timeout[0]] = timeout[1];
    };
    open()
      .then(() => {
        // The client has left: the record ends when the stream closes.
        if (stream.destroyed || stream.closed) return;
        const isPacked = (head.header('grpc-encoding') ?? 'identity') !== 'identity';
        const frames = new Frames(stream, { isPacked, isStream: isRequestStream(rpc) });
        calls.set(served.id, { served, frames });
        explainOwnErrors(stream, served, frames);
        sendPlainTrailers(stream);
        headers[servedHeader] = served.id;
        // grpc-js accepts only lower case.
        headers['content-type'] = headers['content-type']?.toLowerCase();
        serves.get(bytesOf(rpc))?.(stream, headers);
        // A stream without a body has ended before grpc-js listens for its end.
        if (stream.readableEnded) stream.emit('end');
      })
      .catch((error: unknown) => refuse(stream, error, served));
  };
}

/** A grpc-js server of some RPCs, as the function that serves one stream. */
function serverOf(rpcs: readonly AnyRpc[], limits: RpcLimits, calls: Map<string, OpenedCall>): GrpcHandler {
  const server = new Server({
    'grpc.max_receive_message_length': limits.messageBytesMax,
    'grpc.max_send_message_length': -1,
    'grpc.enable_channelz': 0,
  });
  for (const rpc of rpcs) {
    const { name } = rpc.method;
    server.addService({ [name]: definitionOf(rpc, limits) }, { [name]: handlerOf(rpc, calls) });
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

function definitionOf(rpc: AnyRpc, { requestElementsMax }: RpcLimits) {
  const { input, output, methodKind } = rpc.method;
  const operation = 'operation' in rpc ? rpc.operation : undefined;
  const limits = requestLimits(rpc, requestElementsMax);
  const responseStream = methodKind === 'server_streaming' || methodKind === 'bidi_streaming';
  const serialize = answerEncoder(operation, (message: Message) => asBuffer(toBinary(output, message)));
  return {
    path: rpcPath(rpc),
    requestStream: isRequestStream(rpc),
    responseStream,
    requestSerialize: (message: Message) => asBuffer(toBinary(input, message)),
    requestDeserialize: (bytes: Buffer) => decodeRequest(input, bytes, limits),
    // The messages of a stream are written as bytes.
    responseSerialize: responseStream ? (bytes: Buffer) => bytes : serialize,
    responseDeserialize: (bytes: Buffer): Message => fromBinary(output, bytes),
  };
}

function handlerOf(rpc: AnyRpc, calls: Map<string, OpenedCall>): UntypedHandleCall {
  switch (rpc.method.methodKind) {
    case 'unary': {
      const handle: handleUnaryCall<Received | ParleyError, Message> = (call, respond) =>
        void answerOnce(rpc, call.request, call, openedOf(call, calls), respond);
      return handle;
    }
    case 'client_streaming': {
      const handle: handleClientStreamingCall<Message, Message> = (call, respond) => {
        const opened = openedOf(call, calls);
        void answerOnce(rpc, requestsOf(call, opened.frames), call, opened, respond);
      };
      return handle;
    }
    case 'server_streaming': {
      const handle: handleServerStreamingCall<Received | ParleyError, Buffer> = (call) =>
        void answerInParts(rpc, call.request, call, openedOf(call, calls));
      return handle;
    }
    case 'bidi_streaming': {
      const handle: handleBidiStreamingCall<Message, Buffer> = (call) => {
        const opened = openedOf(call, calls);
        void answerInParts(rpc, requestsOf(call, opened.frames), call, opened);
      };
      return handle;
    }
  }
}

function openedOf(call: AnyCall, calls: Map<string, OpenedCall>): OpenedCall {
  const id = String(call.metadata.get(servedHeader)[0]);
  const opened = calls.get(id);
  calls.delete(id);
  if (opened === undefined) throw new Error('a call reached its handler without passing the gate');
  // The client has left, or its deadline has passed.
  call.on('cancelled', () => opened.served.cancel());
  if (call.cancelled) opened.served.cancel();
  return opened;
}

async function answerOnce(
  rpc: AnyRpc,
  received: Received<Sent> | ParleyError,
  call: AnyCall,
  { served, frames }: OpenedCall,
  respond: sendUnaryData<Message>,
): Promise<void> {
  try {
    const { sent, bytes } = readable(received, frames);
    const response = await answerRpc(rpc, sent, served, () => bytes);
    call.sendMetadata(answerHead(served));
    respond(null, response);
  } catch (error) {
    call.sendMetadata(answerHead(served));
    respond(serviceError(error, served));
  } finally {
    served.finish();
  }
}

async function answerInParts(
  rpc: AnyRpc,
  received: Received<Sent> | ParleyError,
  call: WritableCall,
  { served, frames }: OpenedCall,
): Promise<void> {
  let hasBegun = false;
  const begin = () => {
    if (!hasBegun) call.sendMetadata(answerHead(served));
    hasBegun = true;
  };
  try {
    const { sent, bytes } = readable(received, frames);
    // The client of a session may wait for its head before it speaks.
    if (rpc.kind === 'session') begin();
    await writeAll(
      call,
      streamRpc(rpc, sent, served, () => bytes),
      streamEncoder(rpc.method.output),
      begin,
      served.signal,
    );
    begin();
    call.end();
  } catch (error) {
    begin();
    endWith(call, serviceError(error, served));
  } finally {
    served.finish();
  }
}

/** @throws a fault of the body, or the error that `decodeRequest` returned in place of a message */
function readable(received: Received<Sent> | ParleyError, frames: Frames): Received<Sent> {
  frames.check();
  if (received instanceof ParleyError) throw received;
  return received;
}

/** Writes answers to grpc-js: the head once, the parts with backpressure. */
type WritableCall =
  | ServerWritableStream<Received | ParleyError, Buffer>
  | ServerDuplexStream<Message, Buffer>;

function answerHead({ id, answerHeaders, rateHeaders }: ServedCall): Metadata {
  const head = new Metadata();
  head.set('x-request-id', id);
  for (const [name, value] of Object.entries({ ...rateHeaders, ...answerHeaders })) head.set(name, value);
  return head;
}

/** Writes all parts. A slow client slows the engine. */
async function writeAll(
  call: WritableCall,
  { batches, toMessage }: Responses,
  encode: (message: Message) => Buffer,
  begin: () => void,
  signal: Signal,
): Promise<void> {
  for await (const parts of batches) {
    begin();
    for (const part of parts) if (!call.write(encode(toMessage(part)))) await drained(call, signal);
  }
}

/**
 * Ends a call with an error, after the messages that still wait. Only the listener of grpc-js may hear of it, its first: that of
 * the iterator over the requests would destroy the call, and the messages with it.
 */
function endWith(call: WritableCall, error: ServiceError): void {
  const [ofGrpc] = call.listeners('error');
  if (ofGrpc === undefined) throw new Error('This version of @grpc/grpc-js ends its calls in another way.');
  ofGrpc.call(call, error);
}
