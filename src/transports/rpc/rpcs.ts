/** Runs RPCs for gRPC, Connect and gRPC-Web: those of the table, and the open ones, which need no key. */
import type { Message } from '@bufbuild/protobuf';
import type { RequestLimits } from '../../codec/json-scan.ts';
import {
  isPlain,
  plainRequestBytesMax,
  plainRequestElementsMax,
  type Rpc,
  requestShape,
} from '../../core/rpcs.ts';
import { isStrict } from '../../core/strict-operations.ts';
import { transcriptionBytesMax } from '../../core/transcription/service.ts';
import { type Batches, singly } from '../../core/values/batches.ts';
import { ParleyError } from '../../core/values/errors.ts';
import type { ServedCall } from '../run-call.ts';
import type { OpenRpc } from './open-rpcs.ts';

/** The recording of an upload, and the options beside it. */
const uploadBytesMax = transcriptionBytesMax + plainRequestBytesMax;

export type AnyRpc = Rpc | OpenRpc;

/** A client's request: one message, or a stream of them where the RPC's method says so. */
export type Sent = Message | AsyncIterable<Message>;

/** The path of an RPC: `/parley.chat.v1.ChatService/CreateChatCompletion`. */
export function rpcPath({ method }: AnyRpc): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** Whether a request is a stream of messages, rather than one. */
export function isRequestStream({ method: { methodKind } }: AnyRpc): boolean {
  return methodKind === 'client_streaming' || methodKind === 'bidi_streaming';
}

/** Whether a request can be large: a conversation, a text, a recording. */
function isLarge(rpc: AnyRpc): boolean {
  return 'operation' in rpc && !isPlain(rpc.operation);
}

/**
 * Bytes of a request's message after decompression.
 * @param largest the configured limit of large messages
 */
export function messageBytesMax(rpc: AnyRpc, largest: number): number {
  if (rpc.kind === 'open') return rpc.requestBytesMax;
  return isLarge(rpc) ? largest : plainRequestBytesMax;
}

/** @param largest the configured limit of large requests */
export function requestLimits(rpc: AnyRpc, largest: number): RequestLimits {
  return {
    elementsMax: isLarge(rpc) ? largest : plainRequestElementsMax,
    ...requestShape,
    isStrict: rpc.kind !== 'open' && isStrict(rpc),
  };
}

/**
 * Bytes of all messages of a request together. Undefined for an open RPC, which keeps none of its messages.
 * @param largest the configured limit of a large message
 */
export function bodyBytesMax(rpc: AnyRpc, largest: number): number | undefined {
  if (rpc.kind === 'open') return undefined;
  return rpc.kind === 'client-stream' ? uploadBytesMax : messageBytesMax(rpc, largest);
}

/**
 * Runs an RPC with one response, behind the gate.
 * @param requestBytes the size of a request's message; called once it has been read
 */
export async function answerRpc(
  rpc: AnyRpc,
  sent: Sent,
  served: ServedCall,
  requestBytes: () => number,
): Promise<Message> {
  switch (rpc.kind) {
    case 'unary': {
      const request = oneOf(sent);
      noteBytes(rpc, served, requestBytes());
      return rpc.toMessage(await served.answer(rpc, request));
    }
    case 'admin':
      return served.administer(rpc, oneOf(sent));
    case 'client-stream':
      return served.upload(rpc, manyOf(sent));
    case 'open':
      return first(rpc.run(manyOf(sent), served.signal));
    default:
      throw misplaced(rpc);
  }
}

/** Responses in core's form, and how to turn each into a message. */
export interface Responses<Part = unknown> {
  readonly batches: Batches<Part>;
  readonly toMessage: (part: Part) => Message;
}

/** Runs an RPC with a stream of responses, behind the gate. */
export function streamRpc(
  rpc: AnyRpc,
  sent: Sent,
  served: ServedCall,
  requestBytes: () => number,
): Responses {
  if (rpc.kind === 'open') {
    return { batches: singly(rpc.run(manyOf(sent), served.signal)), toMessage: (part) => part as Message };
  }
  if (rpc.kind !== 'server-stream') throw misplaced(rpc);
  const request = oneOf(sent);
  noteBytes(rpc, served, requestBytes());
  return { batches: served.stream(rpc, request), toMessage: rpc.toMessage };
}

/** Notes the size of a request. A chat's size bounds its prompt; that of a compressed one was unknown before. */
function noteBytes(
  rpc: Extract<Rpc, { readonly operation: unknown }>,
  served: ServedCall,
  bytes: number,
): void {
  if (rpc.operation === 'chat') served.noteRequestBytes(bytes);
  if (served.isCompressed) served.keepBytes(bytes);
}

function oneOf(sent: Sent): Message {
  if (Symbol.asyncIterator in sent) throw new Error('a stream was sent in the place of one message');
  return sent;
}

function manyOf(sent: Sent): AsyncIterable<Message> {
  return Symbol.asyncIterator in sent ? sent : single(sent);
}

async function* single(request: Message): AsyncGenerator<Message> {
  yield request;
}

async function first(responses: AsyncIterable<Message>): Promise<Message> {
  for await (const response of responses) return response;
  throw new ParleyError('internal_error');
}

function misplaced({ method }: AnyRpc): Error {
  return new Error(`${method} is served as another kind of RPC than it is`);
}
