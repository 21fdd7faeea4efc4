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
import { scanMessage } from '../../../codec/message-scan.ts';
import { ParleyError } from '../../../core/values/errors.ts';
import type { Signal } from '../../../core/values/signal.ts';
import { answerLimits } from '../../answer-limits.ts';
import { isLost, translateError } from '../errors.ts';
import { type Connection, messageBytesMax } from './connection.ts';
import type { Connections } from './connections.ts';

export interface CallSettings {
  /** The headers that carry the trace of the running request. Default: none. */
  readonly traceHeaders?: (() => Readonly<Record<string, string>>) | undefined;
  readonly apiKey: string | undefined;
  readonly totalMs: number;
  /** Whether a call that was lost without output is repeated once. */
  readonly repeatLostCalls: boolean;
}

interface StreamOptions<M> {
  /** Maximum bytes of all messages together. More is an `upstream_error`. */
  readonly bytesMax?: number;
  /** Whether a message rules out a repeat. Default: any message does. */
  readonly isOutput?: (message: M) => boolean;
  /** Called before the messages of a repeated call. */
  readonly onRepeat?: () => void;
}

/**
 * A call whose connection was lost before any output is repeated once, on another address if there is one. The remote
 * may charge its key for both; clients of this server pay once. An Idempotency-Key would not help: streams ignore it,
 * and the addresses may be servers with separate stores.
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
    signal: Signal,
  ): Promise<MessageShape<O>> {
    const bytes = encode(method.input, request);
    const { connection, release } = this.#connections.take();
    const ask = async () => {
      await connection.ready(signal);
      return this.#answer(connection, method, bytes, signal);
    };
    try {
      return await ask().catch((error: unknown) => {
        this.#unlessLost(error, signal);
        return ask();
      });
    } finally {
      release();
    }
  }

  /** Like `unary`, with each message as it arrives. Slow reading slows the remote; leaving early cancels the call. */
  async *stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageShape<I>,
    signal: Signal,
    {
      bytesMax = Number.POSITIVE_INFINITY,
      isOutput = () => true,
      onRepeat,
    }: StreamOptions<MessageShape<O>> = {},
  ): AsyncGenerator<MessageShape<O>, void, void> {
    const bytes = encode(method.input, request);
    const decode = decoderOf(method.output, bytesMax);
    const { connection, release } = this.#connections.take();
    let hasOutput = false;
    try {
      await connection.ready(signal);
      for await (const message of this.#messages(connection, pathOf(method), { bytes, decode }, signal)) {
        hasOutput ||= isOutput(message);
        yield message;
      }
    } catch (error) {
      if (hasOutput) throw error;
      this.#unlessLost(error, signal);
      onRepeat?.();
      await connection.ready(signal);
      yield* this.#messages(connection, pathOf(method), { bytes, decode }, signal);
    } finally {
      release();
    }
  }

  /** @throws the error of a call that must not be repeated */
  #unlessLost(error: unknown, signal: Signal): void {
    if (!this.#settings.repeatLostCalls || signal.aborted || !isLost(error)) throw error;
  }

  #answer<O extends DescMessage>(
    { client }: Connection,
    method: DescMethodUnary<DescMessage, O>,
    bytes: Buffer,
    signal: Signal,
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
          else reject(signal.aborted ? signal.reason : failureOf(error, call, client, this.#settings.apiKey));
        },
      );
      const cancel = () => call.cancel();
      signal.addEventListener('abort', cancel, { once: true });
      if (signal.aborted) cancel();
    });
  }

  async *#messages<M>(
    { client }: Connection,
    path: string,
    { bytes, decode }: { readonly bytes: Buffer; readonly decode: (bytes: Buffer) => M },
    signal: Signal,
  ): AsyncGenerator<M, void, void> {
    const [metadata, options] = [this.#metadata(), this.#options()];
    const call = client.makeServerStreamRequest(path, sameBytes, decode, bytes, metadata, options);
    // The loop throws the error; a later one does not matter.
    call.on('error', () => undefined);
    const cancel = () => call.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      signal.throwIfAborted();
      const messages: AsyncIterable<M> = call;
      for await (const message of messages) {
        signal.throwIfAborted();
        yield message;
      }
    } catch (error) {
      throw signal.aborted ? signal.reason : failureOf(error, call, client, this.#settings.apiKey);
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

/** The peer of an ended call is the address it was sent to, or the channel's target if it was never sent. */
function failureOf(
  error: unknown,
  call: { getPeer(): string },
  client: Client,
  ownKey: string | undefined,
): ParleyError {
  return translateError(error, call.getPeer() === client.getChannel().getTarget(), ownKey);
}

const sameBytes = (bytes: Buffer): Buffer => bytes;

/**
 * The decoder of an answer's messages. grpc-js turns its errors into the call's error.
 * @param bytesMax of all messages together
 */
function decoderOf<O extends DescMessage>(
  output: O,
  bytesMax = Number.POSITIVE_INFINITY,
): (bytes: Buffer) => MessageShape<O> {
  let sum = 0;
  return (bytes) => {
    sum += bytes.length;
    if (sum > bytesMax) throw new Error(`the answer is larger than ${bytesMax} bytes`);
    const excess = scanMessage(output, bytes, answerLimits);
    if (excess !== undefined) throw new Error(`a message exceeds ${excess} (${answerLimits[excess]})`);
    return fromBinary(output, bytes);
  };
}

function encode<I extends DescMessage>(input: I, request: MessageShape<I>): Buffer {
  const { buffer, byteOffset, byteLength } = toBinary(input, request);
  if (byteLength <= messageBytesMax) return Buffer.from(buffer, byteOffset, byteLength);
  throw new ParleyError('payload_too_large', {
    message: `The request is larger than the engine behind this model accepts (${messageBytesMax} bytes).`,
    hasNotRun: true,
  });
}

/** `/parley.speech.v1.SpeechService/SynthesizeSpeech`. */
function pathOf({ parent, name }: DescMethodUnary | DescMethodServerStreaming): string {
  return `/${parent.typeName}/${name}`;
}
