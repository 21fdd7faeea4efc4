/**
 * Reads the body of a Connect or gRPC-Web request for connect-node, which decodes whole messages at once. Decompresses
 * messages and checks their limits before that.
 */
import type { DescMessage } from '@bufbuild/protobuf';
import { compressionGzip } from '@connectrpc/connect-node';
import { type Excess, JsonScan, type RequestLimits } from '../../codec/json-scan.ts';
import { scanMessage } from '../../codec/message-scan.ts';
import { refuseUnknownMembers } from '../../codec/unknown-fields.ts';
import { breathe } from '../../core/values/breathe.ts';
import { CollectedBytes } from '../../core/values/collected-bytes.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { refuseExcess } from '../refusals.ts';
import { malformed, notOneMessage, tooLarge, wrongFlag } from '../rpc/request-errors.ts';

export interface BodyLimits extends RequestLimits {
  /** Bytes of a message, compressed and decompressed. */
  readonly bytesMax: number;
}

export interface MessageForm {
  readonly input: DescMessage;
  readonly limits: BodyLimits;
  readonly isStream: boolean;
}

export interface MessageBody extends MessageForm {
  /** The request's headers. Reading removes those that state the compression and the length. */
  readonly header: Headers;
  readonly pieces: AsyncIterable<Uint8Array>;
  /** Called with the bytes of each message, decompressed. */
  readonly onMessage: (bytes: number) => void;
}

/** The header that names the compression, by content type. */
const encodingHeaders = [
  { type: /^application\/(json|proto)\b/i, header: 'content-encoding', isEnveloped: false },
  { type: /^application\/connect\+/i, header: 'connect-content-encoding', isEnveloped: true },
  { type: /^application\/grpc/i, header: 'grpc-encoding', isEnveloped: true },
] as const;

/** The head of each message of a stream: flags in the first byte, then the length. */
const headBytes = 5;
const packedFlag = 1;

/**
 * Returns the body with its messages decompressed. Reading it throws `payload_too_large` or `invalid_request_error`. A
 * body of another type stays empty: connect-node refuses it by its type.
 */
export function checkedBody({
  input,
  header,
  pieces,
  limits,
  isStream,
  onMessage,
}: MessageBody): AsyncIterable<Uint8Array> {
  const type = header.get('content-type') ?? '';
  const form = encodingHeaders.find((candidate) => candidate.type.test(type));
  if (form === undefined) return nothing();
  const isPacked = header.get(form.header) === compressionGzip.name;
  const isJson = /^application\/([\w-]+\+)?json/i.test(type);
  const check = (message: Uint8Array) => {
    if (isJson) checkJson(input, message, limits);
    else checkBinary(input, message, limits);
    onMessage(message.length);
    return breathe(message.length);
  };
  if (form.isEnveloped)
    return checkedEnvelopes(pieces, { isPacked, isStream, bytesMax: limits.bytesMax }, check);
  const announced = Number(header.get('content-length') ?? limits.bytesMax);
  header.delete('content-length');
  if (isPacked) header.delete(form.header);
  return checkedWhole(pieces, isPacked, { ...limits, announced }, check);
}

/** Resolves when the message may be decoded. */
type Check = (message: Uint8Array) => Promise<void> | undefined;

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** The body of a unary call of Connect: one message. */
async function* checkedWhole(
  pieces: AsyncIterable<Uint8Array>,
  isPacked: boolean,
  { bytesMax, announced }: BodyLimits & { readonly announced: number },
  check: Check,
): AsyncGenerator<Uint8Array> {
  if (announced > bytesMax) throw tooLarge();
  const body = new CollectedBytes(announced);
  for await (const piece of pieces) {
    if (body.length + piece.length > bytesMax) throw tooLarge();
    body.add(piece);
  }
  const message = isPacked ? await compressionGzip.decompress(body.bytes, bytesMax) : body.bytes;
  await check(message);
  yield message;
}

interface EnvelopeForm {
  readonly isPacked: boolean;
  readonly isStream: boolean;
  readonly bytesMax: number;
}

async function* checkedEnvelopes(
  pieces: AsyncIterable<Uint8Array>,
  { isPacked, isStream, bytesMax }: EnvelopeForm,
  check: Check,
): AsyncGenerator<Uint8Array> {
  const reader = new PieceReader(pieces);
  let count = 0;
  try {
    for (let head = await reader.read(headBytes); head.length > 0; head = await reader.read(headBytes)) {
      if (head.length < headBytes) throw malformed();
      if (++count > 1 && !isStream) throw notOneMessage();
      const [flags = 0, length] = [head[0], head.readUInt32BE(1)];
      if (length > bytesMax) throw tooLarge();
      if (flags > packedFlag || (flags === packedFlag && !isPacked)) throw wrongFlag();
      const content = await reader.read(length);
      if (content.length < length) throw malformed();
      const message = flags === packedFlag && length > 0 ? await unpack(head, content, bytesMax) : content;
      await check(message);
      yield head;
      yield message;
    }
    if (count === 0 && !isStream) throw notOneMessage();
  } finally {
    await reader.close();
  }
}

/** Decompresses the message of an envelope, and updates its head. */
async function unpack(head: Buffer, content: Uint8Array, bytesMax: number): Promise<Uint8Array> {
  const message = await compressionGzip.decompress(content, bytesMax);
  head.writeUInt8(head.readUInt8(0) & ~packedFlag, 0);
  head.writeUInt32BE(message.length, 1);
  return message;
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

function checkJson(input: DescMessage, message: Uint8Array, limits: BodyLimits): void {
  refuseExcess(new JsonScan(limits).read(message), limits);
  if (!limits.isStrict) return;
  try {
    refuseUnknownMembers(input, JSON.parse(Buffer.from(message).toString()));
  } catch (error) {
    // connect-node refuses malformed JSON itself.
    if (error instanceof ParleyError) throw error;
  }
}

function checkBinary(input: DescMessage, message: Uint8Array, limits: BodyLimits): void {
  let excess: Excess | undefined;
  try {
    excess = scanMessage(input, message, limits);
  } catch (cause) {
    throw cause instanceof ParleyError ? cause : malformed(cause);
  }
  refuseExcess(excess, limits);
}
