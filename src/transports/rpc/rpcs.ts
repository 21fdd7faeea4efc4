/** Runs RPCs for gRPC, Connect and gRPC-Web: those of the table, and the open ones, which need no key. */
import type { Message } from '@bufbuild/protobuf';
import { pathOfNonFinite } from '../../codec/finite-numbers.ts';
import type { RequestLimits } from '../../codec/json-scan.ts';
import {
  isPlain,
  isStrict,
  plainRequestBytesMax,
  plainRequestElementsMax,
  type Rpc,
  requestShape,
  sessionMessageBytesMax,
} from '../../core/rpcs.ts';
import { transcriptionBytesMax } from '../../core/transcription/service.ts';
import { type Batches, singly } from '../../core/values/batches.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { refuseNonFinite } from '../refusals.ts';
import type { ServedCall } from '../run-call.ts';
import type { OpenRpc } from './open-rpcs.ts';
import type { MessageForm, Received, Sent } from './request.ts';

/** The recording of an upload, and the options beside it. */
const uploadBytesMax = transcriptionBytesMax + plainRequestBytesMax;

export interface RpcLimits {
  /** Bytes of a message after decompression. */
  readonly messageBytesMax: number;
  /** Fields of a message, or elements of its JSON. */
  readonly requestElementsMax: number;
}

export type AnyRpc = Rpc | OpenRpc;

/** The path of an RPC: `/parley.chat.v1.ChatService/CreateChatCompletion`. */
export function rpcPath({ method }: AnyRpc): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** Whether a request is a stream of messages, rather than one. */
function isRequestStream({ method: { methodKind } }: AnyRpc): boolean {
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
  if (rpc.kind === 'session') return sessionMessageBytesMax;
  if (rpc.kind === 'client-stream') return Math.min(largest, uploadBytesMax);
  return isLarge(rpc) ? largest : plainRequestBytesMax;
}

/** @param largest the configured limit of large requests */
function requestLimits(rpc: AnyRpc, largest: number): RequestLimits {
  return {
    elementsMax: isLarge(rpc) ? largest : plainRequestElementsMax,
    ...requestShape,
    isStrict: rpc.kind !== 'open' && isStrict(rpc),
  };
}

export function messageForm(rpc: AnyRpc, limits: RpcLimits): MessageForm {
  return {
    input: rpc.method.input,
    isStream: isRequestStream(rpc),
    limits: {
      ...requestLimits(rpc, limits.requestElementsMax),
      bytesMax: messageBytesMax(rpc, limits.messageBytesMax),
    },
  };
}

/**
 * Bytes of all messages of a request together. Undefined for an open RPC and a session, which keep none of their messages.
 * @param largest the configured limit of a large message
 */
export function bodyBytesMax(rpc: AnyRpc, largest: number): number | undefined {
  if (rpc.kind === 'open' || rpc.kind === 'session') return undefined;
  return rpc.kind === 'client-stream' ? uploadBytesMax : messageBytesMax(rpc, largest);
}

/** Runs an RPC with one response, behind the gate. */
export async function answerRpc(
  rpc: AnyRpc,
  { sent, bytes }: Received,
  served: ServedCall,
): Promise<Message> {
  switch (rpc.kind) {
    case 'unary': {
      const request = oneOf(rpc, sent);
      if (rpc.runKeyless && served.isKeyless) return rpc.toMessage(await rpc.runKeyless(request));
      served.noteMessageBytes(bytes);
      return rpc.toMessage(await served.answer(rpc, request));
    }
    case 'admin':
      return served.administer(rpc, oneOf(rpc, sent));
    case 'client-stream':
      return served.answer(rpc, manyOf(rpc, sent));
    case 'open':
      return first(rpc.run(manyOf(rpc, sent), served.signal));
    default:
      throw misplaced(rpc);
  }
}

/** Responses in core's form, and how to turn each into a message. */
interface Responses<Part = unknown> {
  readonly batches: Batches<Part>;
  readonly toMessage: (part: Part) => Message;
}

/** Runs an RPC with a stream of responses, behind the gate. */
export function streamRpc(rpc: AnyRpc, { sent, bytes }: Received, served: ServedCall): Responses {
  if (rpc.kind === 'open') {
    return {
      batches: singly(rpc.run(manyOf(rpc, sent), served.signal)),
      toMessage: (part) => part as Message,
    };
  }
  if (rpc.kind === 'session') {
    return { batches: served.stream(rpc, manyOf(rpc, sent)), toMessage: (part) => part as Message };
  }
  if (rpc.kind !== 'server-stream') throw misplaced(rpc);
  const request = oneOf(rpc, sent);
  served.noteMessageBytes(bytes);
  return { batches: served.stream(rpc, request), toMessage: rpc.toMessage };
}

/** @throws `invalid_parameter` or, of audio, `invalid_input` for a NaN or an infinity */
function oneOf(rpc: AnyRpc, sent: Sent): Message {
  if (Symbol.asyncIterator in sent) throw new Error('a stream was sent instead of one message');
  return finite(rpc, sent);
}

async function* manyOf(rpc: AnyRpc, sent: Sent): AsyncGenerator<Message> {
  if (!(Symbol.asyncIterator in sent)) yield finite(rpc, sent);
  else for await (const message of sent) yield finite(rpc, message);
}

function finite(rpc: AnyRpc, message: Message): Message {
  const path = pathOfNonFinite(message)?.replace(/^(params|transcription)\./, '');
  const isAudio = 'operation' in rpc && (rpc.operation === 'transcription' || rpc.operation === 'speech');
  refuseNonFinite(path, isAudio ? 'invalid_input' : 'invalid_parameter');
  return message;
}

async function first(responses: AsyncIterable<Message>): Promise<Message> {
  for await (const response of responses) return response;
  throw new ParleyError('internal_error');
}

function misplaced({ method }: AnyRpc): Error {
  return new Error(`${method} is served as another kind of RPC`);
}
