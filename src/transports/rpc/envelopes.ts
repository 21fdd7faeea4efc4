/**
 * Reads bodies whose messages come in envelopes: those of gRPC, of gRPC-Web and of Connect's streams. Decompresses the
 * messages and checks their limits.
 */
import { type DescMessage, fromBinary, type Message } from '@bufbuild/protobuf';
import type { RequestLimits } from '../../codec/json-scan.ts';
import { scanMessage } from '../../codec/message-scan.ts';
import { CollectedBytes } from '../../core/values/collected-bytes.ts';
import { ParleyError } from '../../core/values/errors.ts';
import type { Decompress } from '../content-encoding.ts';
import { refuseExcess } from '../refusals.ts';
import { malformed, notOneMessage, tooLarge, wrongFlag } from './request-errors.ts';

export interface BodyLimits extends RequestLimits {
  /** Bytes of a message, compressed and decompressed. */
  readonly bytesMax: number;
}

export interface MessageForm {
  readonly input: DescMessage;
  readonly limits: BodyLimits;
  /** Whether the request is a stream of messages, rather than one. */
  readonly isStream: boolean;
}

export interface Envelopes extends MessageForm {
  readonly pieces: AsyncIterable<Uint8Array>;
  /** Undefined if the headers name no compression. */
  readonly unpack: Decompress | undefined;
  /** Resolves when a message of this length may be in memory. */
  readonly admit?: (bytes: number, isPacked: boolean) => Promise<void>;
}

/** The head of an envelope: flags in the first byte, then the length of the message. */
export const headBytes = 5;
const packedFlag = 1;

/** @throws `payload_too_large`, `invalid_request_error` */
export async function* messagesIn({
  pieces,
  unpack,
  isStream,
  limits: { bytesMax },
  admit,
}: Envelopes): AsyncGenerator<Buffer> {
  const reader = new PieceReader(pieces);
  let count = 0;
  try {
    for (let head = await reader.read(headBytes); head.length > 0; head = await reader.read(headBytes)) {
      if (head.length < headBytes) throw malformed();
      if (++count > 1 && !isStream) throw notOneMessage();
      const [flags, length] = [head.readUInt8(0), head.readUInt32BE(1)];
      if (length > bytesMax) throw tooLarge();
      if (flags > packedFlag || (flags === packedFlag && unpack === undefined)) throw wrongFlag();
      await admit?.(length, flags === packedFlag);
      const content = await reader.read(length);
      if (content.length < length) throw malformed();
      yield flags === packedFlag && unpack ? await unpack(content, bytesMax, tooLarge) : content;
    }
    if (count === 0 && !isStream) throw notOneMessage();
  } finally {
    await reader.close();
  }
}

class PieceReader {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  /** The next bytes: as many as requested, unless the body ends before. */
  async read(length: number): Promise<Buffer> {
    const bytes = new CollectedBytes(length);
    while (bytes.length < length) {
      if (this.#rest.length === 0) {
        const { done, value } = await this.#pieces.next();
        if (done) break;
        this.#rest = value;
      }
      const part = this.#rest.subarray(0, length - bytes.length);
      this.#rest = this.#rest.subarray(part.length);
      bytes.add(part);
    }
    return bytes.bytes;
  }

  async close(): Promise<void> {
    await this.#pieces.return?.();
  }
}

/** @throws `invalid_request_error`; `invalid_parameter` for an unknown field if the limits are strict */
export function checkBinary({ input, limits }: MessageForm, message: Uint8Array): void {
  refuseExcess(
    readable(() => scanMessage(input, message, limits)),
    limits,
  );
}

/** @throws the errors of `checkBinary` */
export function decode(form: MessageForm, message: Uint8Array): Message {
  checkBinary(form, message);
  return readable(() => fromBinary(form.input, message));
}

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw cause instanceof ParleyError ? cause : malformed(cause);
  }
}
