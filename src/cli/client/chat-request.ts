/** One answer of a chat model, as text that comes bit by bit. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { z } from 'zod';
import { ChatCompletionChunkSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { jsonCodec } from '../../codec/codec.ts';
import { CliError } from '../terminal/cli-error.ts';
import { type Server, ServerError, send, sendForJson } from './http-client.ts';
import { sseData } from './sse-reader.ts';

export type ChatMessage = { readonly role: 'system' | 'user' | 'assistant'; readonly content: string };

export interface Question {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly signal: AbortSignal;
}

const chunkCodec = jsonCodec(ChatCompletionChunkSchema);
const errorEvent = z.object({ error: z.object({ message: z.string(), code: z.string().nullish() }) });

/** @throws ServerError, CliError where the answer was cut short, the signal's reason */
export async function* streamAnswer(server: Server, question: Question): AsyncGenerator<string> {
  const json = { ...bodyOf(question), stream: true };
  const answer = await send(server, {
    verb: 'POST',
    path: '/chat/completions',
    json,
    signal: question.signal,
  });
  for await (const data of sseData(answer.body)) {
    if (data === '[DONE]') return;
    yield textOf(JSON.parse(data), answer.requestId);
  }
  throw new CliError('The answer was cut short. Try again.');
}

/** The whole completion at once, as the API answers it. @throws ServerError, CliError */
export function completeAnswer(server: Server, question: Question): Promise<JsonValue> {
  const call = { verb: 'POST', path: '/chat/completions', json: bodyOf(question) } as const;
  return sendForJson(server, { ...call, signal: question.signal });
}

function bodyOf({ model, messages }: Question): JsonObject {
  return { model, messages: messages.map((message) => ({ ...message })) };
}

function textOf(event: JsonValue, requestId: string | undefined): string {
  const { data: failure } = errorEvent.safeParse(event);
  if (failure !== undefined)
    throw new ServerError(failure.error.message, failure.error.code ?? undefined, requestId);
  return chunkCodec.decodeLeniently(event).message.choices[0]?.delta?.content ?? '';
}
