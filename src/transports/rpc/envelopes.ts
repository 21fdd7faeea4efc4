/** Reads bodies whose messages come in envelopes: those of gRPC, of gRPC-Web and of Connect's streams. */
import { CollectedBytes } from '../../core/values/collected-bytes.ts';
import type { Soon } from '../../core/values/soon.ts';
import type { Decompress } from '../content-encoding.ts';
import { malformed, notOneMessage, tooLarge, wrongFlag } from './request-errors.ts';

export interface Envelopes {
  readonly pieces: AsyncIterable<Uint8Array>;
  /** Undefined if the headers name no compression. */
  readonly unpack: Decompress | undefined;
  readonly isStream: boolean;
  /** Bytes of a message, compressed and decompressed. */
  readonly bytesMax: number;
  /** Resolves when a message of this length may be in memory; undefined if it may be now. */
  readonly admit?: (bytes: number, isPacked: boolean) => Promise<void> | undefined;
}

/** The head of an envelope: flags in the first byte, then the length of the message. */
export const headBytes = 5;
const packedFlag = 1;

/**
 * Yields the messages, decompressed.
 * @throws `payload_too_large`, `invalid_request_error`
 */
export async function* messagesIn(body: Envelopes): AsyncGenerator<Buffer> {
  const { pieces, unpack, isStream, bytesMax, admit } = body;
  const reader = new PieceReader(pieces);
  let count = 0;
  try {
    for (let head = await reader.read(headBytes); head.length > 0; head = await reader.read(headBytes)) {
      if (head.length < headBytes) throw malformed();
      if (++count > 1 && !isStream) throw notOneMessage();
      const [flags, length] = [head.readUInt8(0), head.readUInt32BE(1)];
      if (length > bytesMax) throw tooLarge();
      if (flags > packedFlag || (flags === packedFlag && unpack === undefined)) throw wrongFlag();
      const admitting = admit?.(length, flags === packedFlag);
      if (admitting) await admitting;
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
  read(length: number): Soon<Buffer> {
    if (this.#rest.length < length) return this.#collect(length);
    const { buffer, byteOffset } = this.#rest;
    this.#rest = this.#rest.subarray(length);
    return Buffer.from(buffer, byteOffset, length);
  }

  async #collect(length: number): Promise<Buffer> {
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

/** The head of a message that is not compressed. */
export function envelopeHead({ length }: Uint8Array): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(length, 1);
  return head;
}
