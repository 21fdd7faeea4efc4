/** The messages of a request of gRPC, gRPC-Web or Connect: their limits, and their two encodings. */
import type { Readable } from 'node:stream';
import {
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonReadOptions,
  type JsonValue,
  type Message,
} from '@bufbuild/protobuf';
import { type Excess, JsonScan, type RequestLimits } from '../../codec/json-scan.ts';
import { scanMessage } from '../../codec/message-scan.ts';
import { refuseUnknownMembers } from '../../codec/unknown-fields.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { andThen, breathe, type Soon } from '../../core/values/soon.ts';
import { refuseExcess } from '../refusals.ts';
import { malformed, notOneMessage } from './request-errors.ts';

interface BodyLimits extends RequestLimits {
  /** Bytes of a message, compressed and decompressed. */
  readonly bytesMax: number;
}

export interface MessageForm {
  readonly input: DescMessage;
  readonly limits: BodyLimits;
  /** Whether the request is a stream of messages, rather than one. */
  readonly isStream: boolean;
}

/** How the messages of a request are written. */
export interface Encoding {
  scan(form: MessageForm, message: Uint8Array): Excess | undefined;
  decode(form: MessageForm, message: Uint8Array): Message;
}

export const binary: Encoding = {
  scan: ({ input, limits }, message) => scanMessage(input, message, limits),
  decode: ({ input }, message) => fromBinary(input, message),
};

export function json(options?: Partial<JsonReadOptions>): Encoding {
  return {
    scan: ({ limits }, message) => new JsonScan(limits).read(message),
    decode: ({ input, limits }, message) => {
      const value: JsonValue = JSON.parse(Buffer.from(message).toString());
      if (limits.isStrict) refuseUnknownMembers(input, value);
      return fromJson(input, value, { ignoreUnknownFields: true, ...options });
    },
  };
}

/** A client's request: one message, or a stream of them where the RPC's method says so. */
export type Sent = Message | AsyncIterable<Message>;

export interface Received {
  readonly sent: Sent;
  /** Bytes of the one message; 0 for a stream of messages. */
  readonly bytes: number;
}

/**
 * Reads the one message of a request, or returns the stream of its messages.
 * @throws `invalid_request_error` for a message that is malformed or exceeds a limit; `invalid_parameter` for an unknown field
 * if the limits are strict
 */
export async function receive(
  form: MessageForm,
  messages: AsyncIterable<Uint8Array>,
  encoding: Encoding,
): Promise<Received> {
  if (form.isStream) return { sent: sentIn(form, messages, encoding), bytes: 0 };
  let only: Received | undefined;
  for await (const message of messages) {
    only = { sent: await decoded(form, message, encoding), bytes: message.length };
  }
  if (only === undefined) throw notOneMessage();
  return only;
}

function decoded(form: MessageForm, message: Uint8Array, encoding: Encoding): Soon<Message> {
  refuseExcess(
    readable(() => encoding.scan(form, message)),
    form.limits,
  );
  return andThen(breathe(message.length), () => readable(() => encoding.decode(form, message)));
}

async function* sentIn(
  form: MessageForm,
  messages: AsyncIterable<Uint8Array>,
  encoding: Encoding,
): AsyncGenerator<Message> {
  for await (const message of messages) yield decoded(form, message, encoding);
}

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw cause instanceof ParleyError ? cause : malformed(cause);
  }
}

/**
 * The bytes of a body as they arrive, with a third of the listeners of Node's own iterator. Leaving the loop does not destroy
 * the stream, which still carries the answer.
 */
export class BodyPieces implements AsyncIterableIterator<Uint8Array> {
  readonly #body: Body;
  #wake: (() => void) | undefined;
  readonly #onEvent = () => this.#wake?.();

  constructor(body: Body) {
    this.#body = body;
    for (const event of bodyEvents) body.on(event, this.#onEvent);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** @throws `request_cancelled` if the client leaves */
  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      const value: Uint8Array | null = this.#body.read();
      if (value !== null) return { done: false, value };
      // A request of HTTP/2 also ends where it was cut.
      if (this.#body.readableEnded && !this.#body.aborted) return this.return();
      if (this.#body.readableEnded || this.#body.destroyed)
        throw new ParleyError('request_cancelled', { cause: this.#body.errored });
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    for (const event of bodyEvents) this.#body.off(event, this.#onEvent);
    return { done: true, value: undefined };
  }
}

/** A request of HTTP/1 or HTTP/2, or a stream of HTTP/2. */
type Body = Readable & { readonly aborted: boolean };

const bodyEvents = ['readable', 'end', 'close'];
