/** Serves the RPCs over gRPC with grpc-js. */
import { EventEmitter } from 'node:events';
import type {
  IncomingHttpHeaders,
  OutgoingHttpHeaders,
  ServerHttp2Stream,
  ServerStreamResponseOptions,
} from 'node:http2';
import { type Message, toBinary } from '@bufbuild/protobuf';
import {
  Metadata,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  status,
} from '@grpc/grpc-js';
import { drained } from '../drained.ts';
import { answerEncoder } from '../encode-once.ts';
import { keepOpen } from '../http/http2-stream.ts';
import type { StreamHandler } from '../http/server.ts';
import { requestHead, takeKeyHeader } from '../request-head.ts';
import { joinPieces } from '../rpc/join-pieces.ts';
import type { Received } from '../rpc/request.ts';
import { noSuchMethod } from '../rpc/request-errors.ts';
import { type AnyRpc, answerRpc, type RpcLimits, rpcPath, streamRpc } from '../rpc/rpcs.ts';
import { readTimeout, type Timeout } from '../rpc/timeout.ts';
import { type CallDeps, ServedCall } from '../run-call.ts';
import { refuse, sendTrailers, statusOf } from './errors.ts';
import { receiveFrom, unpackerOf } from './request.ts';

/**
 * Passes streams to a grpc-js server that does not listen itself. A stream arrives there only after the gate has opened
 * its call; until then nothing of the body is read.
 * @throws if this version of grpc-js does not accept streams from outside
 */
export function createGrpcHandler(rpcs: readonly AnyRpc[], limits: RpcLimits, deps: CallDeps): StreamHandler {
  const callOf = grpcCalls(rpcs);
  const routes = new Map(rpcs.map((rpc) => [rpcPath(rpc), { rpc, encode: encoderOf(rpc) }]));
  return (stream, headers, client) => {
    const { ':path': path = '' } = headers;
    const route = routes.get(path);
    takeKeyHeader(headers);
    const head = requestHead('grpc', client, headers);
    const served = new ServedCall(head, deps, route?.rpc.kind);
    if (route === undefined) {
      served.refuseUnserved(noSuchMethod()).catch((error: unknown) => refuse(stream, error, served));
      return served.close(false);
    }
    const { rpc, encode } = route;
    let isRunning = false;
    stream.on('close', () => served.close(isRunning || stream.aborted));
    const open = async () => {
      await served.open(rpc);
      if (rpc.kind === 'session') keepOpen(stream);
      const unpack = unpackerOf(head.header('grpc-encoding'));
      const timeout = readTimeout(head);
      // The client has left: the record ends when the stream closes.
      if (stream.destroyed || stream.closed) return;
      isRunning = true;
      joinPieces(stream);
      const call = callOf(new AnswerStream(stream, served), path, timeout);
      const request = () => receiveFrom(stream, unpack, rpc, limits, served);
      void answer(rpc, request, { call, stream, served, encode });
    };
    open().catch((error: unknown) => refuse(stream, error, served));
  };
}

type CallOf = (
  stream: AnswerStream,
  path: string,
  timeout: Timeout | undefined,
) => ServerInterceptingCallInterface;

/**
 * A grpc-js server as the function that makes the call of a stream. Its interceptor takes each call before grpc-js would make a
 * Duplex of it and read the request.
 */
function grpcCalls(rpcs: readonly AnyRpc[]): CallOf {
  let taken: ServerInterceptingCallInterface | undefined;
  const take: ServerInterceptor = (_, call) => {
    taken = call;
    return new ServerInterceptingCall(call, { start: () => undefined });
  };
  const server = new Server({
    'grpc.max_send_message_length': -1,
    'grpc.enable_channelz': 0,
    interceptors: [take],
  });
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
    server.addService({ [name]: { ...form, path: rpcPath(rpc) } }, { [name]: () => undefined });
  }
  server.createConnectionInjector(ServerCredentials.createInsecure());
  const serve = streamHandlerOf(server);
  return (stream, path, timeout) => {
    // Metadata of the client stays here.
    serve(stream, {
      ':path': path,
      'content-type': 'application/grpc',
      ...(timeout && { [timeout[0]]: timeout[1] }),
    });
    const call = taken;
    taken = undefined;
    if (call === undefined) throw new Error('grpc-js has made no call of a stream.');
    return call;
  };
}

/** The listener with which grpc-js serves one HTTP/2 stream, on a connection that other protocols may share. */
type StreamListener = (stream: AnswerStream, headers: IncomingHttpHeaders) => void;

/**
 * The server's own listener for streams. grpc-js cannot share a connection with other protocols, so this reads a
 * private field, which a test checks.
 */
function streamHandlerOf(server: Server): StreamListener {
  const servers: unknown = Reflect.get(server, 'http2Servers');
  const [http2] = servers instanceof Map ? servers.keys() : [];
  const [handler] = http2 instanceof EventEmitter ? http2.listeners('stream') : [];
  if (handler !== undefined) return handler as StreamListener;
  throw new Error('This version of @grpc/grpc-js serves its streams elsewhere. Install the pinned one.');
}

/** A stream as grpc-js sees it: grpc-js writes the answer there, and never reads the request. */
class AnswerStream {
  readonly #stream: ServerHttp2Stream;
  readonly #served: ServedCall;

  constructor(stream: ServerHttp2Stream, served: ServedCall) {
    this.#stream = stream;
    this.#served = served;
  }

  get destroyed(): boolean {
    return this.#stream.destroyed;
  }

  get closed(): boolean {
    return this.#stream.closed;
  }

  once(event: string, listener: () => void): void {
    if (event !== 'error') this.#stream.once(event, listener);
  }

  /** For the events of a request that is read. */
  on(): void {}

  respond(headers: OutgoingHttpHeaders, options: ServerStreamResponseOptions): void {
    const { id, rateHeaders, answerHeaders } = this.#served;
    this.#stream.respond({ ...headers, 'x-request-id': id, ...rateHeaders, ...answerHeaders }, options);
  }

  write(bytes: Buffer, written: () => void): void {
    this.#stream.write(bytes);
    written();
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

/** Encodes a message in a Buffer, as grpc-js requires. */
type Encode = (message: Message) => Buffer;

function encoderOf(rpc: AnyRpc): Encode {
  const operation = 'operation' in rpc ? rpc.operation : undefined;
  return answerEncoder(operation, (message: Message) => {
    const { buffer, byteOffset, byteLength } = toBinary(rpc.method.output, message);
    return Buffer.from(buffer, byteOffset, byteLength);
  });
}

interface Answering {
  readonly call: ServerInterceptingCallInterface;
  readonly stream: ServerHttp2Stream;
  readonly served: ServedCall;
  readonly encode: Encode;
}

const nothing = () => undefined;
/** Headers and trailers of an answer do not pass through grpc-js. */
const noMetadata = new Metadata();
const ok = { code: status.OK, details: 'OK' };

/** Runs an RPC and sends its answer. Never rejects. */
async function answer(
  rpc: AnyRpc,
  receive: () => Promise<Received>,
  { call, stream, served, encode }: Answering,
): Promise<void> {
  call.start({
    onReceiveMetadata: nothing,
    onReceiveMessage: nothing,
    onReceiveHalfClose: nothing,
    // The client has left, or its deadline has passed.
    onCancel: () => served.cancel(),
  });
  const begin = () => call.sendMetadata(noMetadata);
  try {
    const received = await receive();
    if (isStreamed(rpc)) {
      // The client of a session may wait for its head before it speaks.
      if (rpc.kind === 'session') begin();
      const { batches, toMessage } = streamRpc(rpc, received, served);
      for await (const parts of batches) {
        begin();
        for (const part of parts) {
          corkForTurn(stream);
          call.sendMessage(encode(toMessage(part)), nothing);
          // A slow client slows the engine.
          if (stream.writableNeedDrain) await drained(stream, served.signal);
        }
      }
      begin();
    } else {
      const response = await answerRpc(rpc, received, served);
      begin();
      call.sendMessage(encode(response), nothing);
    }
    call.sendStatus(ok);
  } catch (error) {
    begin();
    call.sendStatus(statusOf(error, served));
  } finally {
    served.finish();
  }
}

/** Messages of one turn of the event loop leave together. */
function corkForTurn(stream: ServerHttp2Stream): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

function isStreamed({ method: { methodKind } }: AnyRpc): boolean {
  return methodKind === 'server_streaming' || methodKind === 'bidi_streaming';
}
