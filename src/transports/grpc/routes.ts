/** Serves the RPCs over gRPC with grpc-js. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import type {
  IncomingHttpHeaders,
  OutgoingHttpHeaders,
  ServerHttp2Stream,
  ServerStreamResponseOptions,
} from 'node:http2';
import { type Message, toBinary } from '@bufbuild/protobuf';
import { Metadata, Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { drained } from '../drained.ts';
import { answerEncoder } from '../encode-once.ts';
import { keepOpen } from '../http/http2-stream.ts';
import type { StreamHandler } from '../http/server.ts';
import { requestHead, takeKeyHeader } from '../request-head.ts';
import { joinPieces } from '../rpc/join-pieces.ts';
import type { Received } from '../rpc/request.ts';
import { noSuchMethod } from '../rpc/request-errors.ts';
import { type AnyRpc, answerRpc, type RpcLimits, rpcPath, streamRpc } from '../rpc/rpcs.ts';
import { readTimeout } from '../rpc/timeout.ts';
import { type CallDeps, ServedCall } from '../run-call.ts';
import { refuse, sendTrailers, serviceError } from './errors.ts';
import { receiveFrom, unpackerOf } from './request.ts';

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

/** A stream as grpc-js sees it: grpc-js writes the answer there, and never reads the request. */
class AnswerStream extends EventEmitter {
  readonly #stream: ServerHttp2Stream;

  constructor(stream: ServerHttp2Stream) {
    super();
    this.#stream = stream;
    for (const event of ['close', 'wantTrailers']) stream.once(event, () => this.emit(event));
  }

  get session() {
    return this.#stream.session;
  }

  get destroyed(): boolean {
    return this.#stream.destroyed;
  }

  get closed(): boolean {
    return this.#stream.closed;
  }

  respond(headers: OutgoingHttpHeaders, options: ServerStreamResponseOptions): void {
    this.#stream.respond(headers, options);
  }

  /** Messages of one turn of the event loop leave together. grpc-js sends the next one while there is room. */
  write(bytes: Buffer, written: () => void): void {
    const stream = this.#stream;
    if (stream.writableCorked === 0) {
      stream.cork();
      process.nextTick(() => stream.uncork());
    }
    if (stream.write(bytes)) written();
    else stream.once('drain', written);
  }

  sendTrailers(trailers: OutgoingHttpHeaders): void {
    sendTrailers(this.#stream, trailers);
  }

  end(): void {
    this.#stream.end();
  }

  pause(): void {}

  /** grpc-js discards the rest of the request of an answered call. */
  resume(): void {
    this.#stream.resume();
  }
}

type GrpcCall = ServerDuplexStream<unknown, Buffer>;

/** Encodes a message in a Buffer, as grpc-js requires. */
type Encode = (message: Message) => Buffer;

function encoderOf(rpc: AnyRpc): Encode {
  const operation = 'operation' in rpc ? rpc.operation : undefined;
  return answerEncoder(operation, (message: Message) => {
    const { buffer, byteOffset, byteLength } = toBinary(rpc.method.output, message);
    return Buffer.from(buffer, byteOffset, byteLength);
  });
}

/** Runs an RPC and sends its answer. Never rejects. */
async function answer(
  rpc: AnyRpc,
  receive: () => Promise<Received>,
  call: GrpcCall,
  served: ServedCall,
  encode: Encode,
): Promise<void> {
  // The client has left, or its deadline has passed.
  call.on('cancelled', () => served.cancel());
  if (call.cancelled) served.cancel();
  let hasBegun = false;
  const begin = () => {
    if (!hasBegun) call.sendMetadata(answerHead(served));
    hasBegun = true;
  };
  try {
    const received = await receive();
    if (isStreamed(rpc)) {
      // The client of a session may wait for its head before it speaks.
      if (rpc.kind === 'session') begin();
      const { batches, toMessage } = streamRpc(rpc, received, served);
      for await (const parts of batches) {
        begin();
        // A slow client slows the engine.
        for (const part of parts)
          if (!call.write(encode(toMessage(part)))) await drained(call, served.signal);
      }
      begin();
    } else {
      const response = await answerRpc(rpc, received, served);
      begin();
      call.write(encode(response));
    }
    call.end();
  } catch (error) {
    begin();
    call.emit('error', serviceError(error, served));
  } finally {
    served.finish();
  }
}

function isStreamed({ method: { methodKind } }: AnyRpc): boolean {
  return methodKind === 'server_streaming' || methodKind === 'bidi_streaming';
}

function answerHead({ id, answerHeaders, rateHeaders }: ServedCall): Metadata {
  const head = new Metadata();
  head.set('x-request-id', id);
  for (const [name, value] of Object.entries({ ...rateHeaders, ...answerHeaders })) head.set(name, value);
  return head;
}
