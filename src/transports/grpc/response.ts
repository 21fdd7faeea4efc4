/** Answers gRPC calls with grpc-js. */
import { EventEmitter } from 'node:events';
import type { OutgoingHttpHeaders, ServerHttp2Stream, ServerStreamResponseOptions } from 'node:http2';
import { type Message, toBinary } from '@bufbuild/protobuf';
import { Metadata, type ServerDuplexStream } from '@grpc/grpc-js';
import { drained } from '../drained.ts';
import { answerEncoder } from '../encode-once.ts';
import type { Received } from '../rpc/request.ts';
import { type AnyRpc, answerRpc, streamRpc } from '../rpc/rpcs.ts';
import type { ServedCall } from '../run-call.ts';
import { sendTrailers, serviceError } from './errors.ts';

/** A stream as grpc-js sees it: grpc-js writes the answer there, and never reads the request. */
export class AnswerStream extends EventEmitter {
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

  write(bytes: Buffer, written: (error?: Error | null) => void): void {
    this.#stream.write(bytes, written);
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

export type GrpcCall = ServerDuplexStream<unknown, Buffer>;

/** Encodes a message in a Buffer, as grpc-js requires. */
export type Encode = (message: Message) => Buffer;

export function encoderOf(rpc: AnyRpc): Encode {
  const operation = 'operation' in rpc ? rpc.operation : undefined;
  return answerEncoder(operation, (message: Message) => {
    const { buffer, byteOffset, byteLength } = toBinary(rpc.method.output, message);
    return Buffer.from(buffer, byteOffset, byteLength);
  });
}

/** Runs an RPC and sends its answer. Never rejects. */
export async function answer(
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
