/** Calls RPCs of a remote Parley by their descriptors. */
import {
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { type CallOptions, type Client, Metadata } from '@grpc/grpc-js';
import { ParleyError } from '../../../core/errors.ts';
import { translateError } from '../errors.ts';
import { type Connection, messageBytesMax } from './connection.ts';
import type { Connections } from './connections.ts';

export interface CallSettings {
  /** The headers that carry the trace of the running request on. Default: none. */
  readonly traceHeaders?: (() => Readonly<Record<string, string>>) | undefined;
  readonly apiKey: string | undefined;
  readonly totalMs: number;
}

/**
 * Calls that may have run are not retried. An Idempotency-Key would not make that safe: the addresses of one engine may be
 * servers with separate stores.
 */
export class Calls {
  readonly #connections: Connections;
  readonly #settings: CallSettings;

  constructor(connections: Connections, settings: CallSettings) {
    this.#connections = connections;
    this.#settings = settings;
  }

  /** @throws ParleyError, or the signal's reason after the call is cancelled */
  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageShape<I>,
    signal: AbortSignal,
  ): Promise<MessageShape<O>> {
    const bytes = encode(method.input, request);
    const { connection, release } = this.#connections.take();
    try {
      await connection.ready(signal);
      return await this.#answer(connection, method, bytes, signal);
    } finally {
      release();
    }
  }

  /** As `unary`, with each message as it arrives. Slow reading slows the remote; leaving early cancels the call. */
  async *stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageShape<I>,
    signal: AbortSignal,
  ): AsyncGenerator<MessageShape<O>, void, void> {
    const bytes = encode(method.input, request);
    const { connection, release } = this.#connections.take();
    try {
      await connection.ready(signal);
      yield* this.#messages(connection, method, bytes, signal);
    } finally {
      release();
    }
  }

  #answer<O extends DescMessage>(
    { client }: Connection,
    method: DescMethodUnary<DescMessage, O>,
    bytes: Buffer,
    signal: AbortSignal,
  ): Promise<MessageShape<O>> {
    return new Promise((resolve, reject) => {
      const call = client.makeUnaryRequest(
        pathOf(method),
        sameBytes,
        decoderOf(method.output),
        bytes,
        this.#metadata(),
        this.#options(),
        (error, message) => {
          signal.removeEventListener('abort', cancel);
          if (message !== undefined) resolve(message);
          else reject(signal.aborted ? signal.reason : failureOf(error, call, client));
        },
      );
      const cancel = () => call.cancel();
      signal.addEventListener('abort', cancel, { once: true });
      if (signal.aborted) cancel();
    });
  }

  async *#messages<O extends DescMessage>(
    { client }: Connection,
    method: DescMethodServerStreaming<DescMessage, O>,
    bytes: Buffer,
    signal: AbortSignal,
  ): AsyncGenerator<MessageShape<O>, void, void> {
    const decode = decoderOf(method.output);
    const [path, metadata, options] = [pathOf(method), this.#metadata(), this.#options()];
    const call = client.makeServerStreamRequest(path, sameBytes, decode, bytes, metadata, options);
    // The loop throws the error; one after the loop does not matter.
    call.on('error', () => undefined);
    const cancel = () => call.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      signal.throwIfAborted();
      const messages: AsyncIterable<MessageShape<O>> = call;
      for await (const message of messages) {
        signal.throwIfAborted();
        yield message;
      }
    } catch (error) {
      throw signal.aborted ? signal.reason : failureOf(error, call, client);
    } finally {
      signal.removeEventListener('abort', cancel);
      cancel();
    }
  }

  #metadata(): Metadata {
    const metadata = new Metadata();
    const { apiKey, traceHeaders } = this.#settings;
    for (const [name, value] of Object.entries(traceHeaders?.() ?? {})) metadata.set(name, value);
    if (apiKey !== undefined) metadata.set('authorization', `Bearer ${apiKey}`);
    return metadata;
  }

  #options(): CallOptions {
    return { deadline: Date.now() + this.#settings.totalMs };
  }
}

/** The peer of an ended call is the address it was sent to, or still the channel's target if it was never sent. */
function failureOf(error: unknown, call: { getPeer(): string }, client: Client): ParleyError {
  return translateError(error, call.getPeer() === client.getChannel().getTarget());
}

const sameBytes = (bytes: Buffer): Buffer => bytes;

const decoderOf =
  <O extends DescMessage>(output: O) =>
  (bytes: Buffer): MessageShape<O> =>
    fromBinary(output, bytes);

function encode<I extends DescMessage>(input: I, request: MessageShape<I>): Buffer {
  const { buffer, byteOffset, byteLength } = toBinary(input, request);
  if (byteLength <= messageBytesMax) return Buffer.from(buffer, byteOffset, byteLength);
  throw new ParleyError('payload_too_large', {
    message: `The request is larger than the engine behind this model takes (${messageBytesMax} bytes).`,
    hasNotRun: true,
  });
}

/** `/parley.speech.v1.SpeechService/SynthesizeSpeech`. */
function pathOf({ parent, name }: DescMethodUnary | DescMethodServerStreaming): string {
  return `/${parent.typeName}/${name}`;
}
