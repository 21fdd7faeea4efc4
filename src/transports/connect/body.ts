/**
 * Reads the body of a Connect or gRPC-Web request for connect-node, which decodes whole messages at once. Decompresses
 * messages and checks their limits before that.
 */
import { compressionGzip } from '@connectrpc/connect-node';
import { JsonScan } from '../../codec/json-scan.ts';
import { refuseUnknownMembers } from '../../codec/unknown-fields.ts';
import { breathe } from '../../core/values/breathe.ts';
import { CollectedBytes } from '../../core/values/collected-bytes.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { type Decompress, decompression } from '../content-encoding.ts';
import { refuseExcess } from '../refusals.ts';
import { checkBinary, headBytes, type MessageForm, messagesIn } from '../rpc/envelopes.ts';
import { tooLarge } from '../rpc/request-errors.ts';

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

/**
 * Returns the body with its messages decompressed. Reading it throws `payload_too_large` or `invalid_request_error`. A
 * body of another type stays empty: connect-node refuses it by its type.
 */
export function checkedBody(body: MessageBody): AsyncIterable<Uint8Array> {
  const { header, limits } = body;
  const type = header.get('content-type') ?? '';
  const form = encodingHeaders.find((candidate) => candidate.type.test(type));
  if (form === undefined) return nothing();
  // connect-node refuses any other compression.
  const isPacked = header.get(form.header) === compressionGzip.name;
  const unpack = isPacked ? decompression(compressionGzip.name) : undefined;
  const check = /^application\/([\w-]+\+)?json/i.test(type) ? checkJson : checkBinary;
  if (form.isEnveloped) return checked(body, messagesIn({ ...body, unpack }), check, envelopeHead);
  const announced = Number(header.get('content-length') ?? limits.bytesMax);
  header.delete('content-length');
  if (isPacked) header.delete(form.header);
  return checked(body, wholeBody(body, announced, unpack), check);
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

async function* checked(
  body: MessageBody,
  messages: AsyncIterable<Buffer>,
  check: (form: MessageForm, message: Uint8Array) => void,
  headOf?: (message: Uint8Array) => Uint8Array,
): AsyncGenerator<Uint8Array> {
  for await (const message of messages) {
    check(body, message);
    body.onMessage(message.length);
    await breathe(message.length);
    if (headOf) yield headOf(message);
    yield message;
  }
}

/** The body of a unary call of Connect: one message. */
async function* wholeBody(
  { pieces, limits: { bytesMax } }: MessageBody,
  announced: number,
  unpack: Decompress | undefined,
): AsyncGenerator<Buffer> {
  if (announced > bytesMax) throw tooLarge();
  const body = new CollectedBytes(announced);
  for await (const piece of pieces) {
    if (body.length + piece.length > bytesMax) throw tooLarge();
    body.add(piece);
  }
  yield unpack ? await unpack(body.bytes, bytesMax, tooLarge) : body.bytes;
}

/** The head of a message that is not compressed. */
function envelopeHead({ length }: Uint8Array): Uint8Array {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(length, 1);
  return head;
}

function checkJson({ input, limits }: MessageForm, message: Uint8Array): void {
  refuseExcess(new JsonScan(limits).read(message), limits);
  if (!limits.isStrict) return;
  try {
    refuseUnknownMembers(input, JSON.parse(Buffer.from(message).toString()));
  } catch (error) {
    // connect-node refuses malformed JSON itself.
    if (error instanceof ParleyError) throw error;
  }
}
