import type { JsonValue } from '@bufbuild/protobuf';
import {
  ChatCompletionChunkSchema,
  ChatCompletionParamsSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { type MessageEvent, MessageParamsSchema } from '../../../gen/parley/messages/v1/messages_pb.ts';
import { jsonCodec } from '../../../src/codec/codec.ts';
import { AnswerReasoning, ReasoningSeal } from '../../../src/core/chat/reasoning.ts';
import { toChatParams } from '../../../src/core/messages/chat-params.ts';
import { MessageAnswer } from '../../../src/core/messages/dialect.ts';
import { newAccountId, newRequestId } from '../../../src/core/values/ids.ts';
import { encodeMessage, encodeMessageEvent } from '../../../src/transports/rest/messages.ts';
import { type FuzzTarget, refusable } from '../target.ts';

const seal = new ReasoningSeal('secret');
const paramsCodec = jsonCodec(MessageParamsSchema);
const chatCodec = jsonCodec(ChatCompletionParamsSchema);
const chunkCodec = jsonCodec(ChatCompletionChunkSchema);

/** The first byte chooses between a request and the chunks of an answer. */
export const messages: FuzzTarget = {
  seeds: [
    '0{"model":"a","max_tokens":5,"system":[{"type":"text","text":"b"}],"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"}},{"type":"tool_result","tool_use_id":"c","content":"d"}]}]}',
    '0{"model":"a","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"d","input":{"e":1}}]}],"tools":[{"name":"d","input_schema":{}}],"tool_choice":{"type":"any"},"output_config":{"effort":"low"}}',
    '1[{"choices":[{"delta":{"reasoning_details":[{"text":"a"}],"extra_content":{}}}]},{"choices":[{"delta":{"tool_calls":[{"id":"a","extra_content":{"b":1}}]}}]}]',
    '1[{"choices":[{"delta":{"reasoning_content":"a"}}]},{"choices":[{"delta":{"content":"b"}}]},{"choices":[{"delta":{"refusal":"c"},"finish_reason":"length"}]}]',
    '1[{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"b","arguments":"{"}}]}}]},{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}},{"id":"c"}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}]',
  ],
  words: ['null', '[]', '{}', '""', '"__proto__":', '"type":', '"content":', '"index":1', '"name":"d"', ','],
  open: () => ({
    read(input) {
      const json = parsed(input.toString('utf8', 1));
      if (json === undefined) return;
      if ((input[0] ?? 0) % 2 === 0) readRequest(json);
      else readAnswer(Array.isArray(json) ? json : [json]);
    },
  }),
};

function readRequest(json: JsonValue): void {
  refusable(() => JSON.stringify(chatCodec.encode(toChatParams(paramsCodec.decode(json)))));
}

function readAnswer(chunks: readonly JsonValue[]): void {
  const events: MessageEvent[] = [];
  const begin = () =>
    new MessageAnswer(
      paramsCodec.decodeLeniently({}),
      { id: newRequestId(0) },
      (event) => events.push(event),
      new AnswerReasoning(seal, newAccountId(0)),
    );
  const answer = begin();
  const decoded = chunks.map((chunk) => chunkCodec.decodeLeniently(chunk));
  answer.begin('');
  for (const chunk of decoded) answer.take(chunk);
  answer.finish();
  checkEvents(events);
  for (const chunk of decoded) {
    refusable(() => {
      const { message } = begin().whole(chunk);
      if (message) JSON.stringify(encodeMessage(message));
    });
  }
}

/** One block after the other begins and ends, and each piece is within the open one. */
function checkEvents(events: readonly MessageEvent[]): void {
  let open: number | undefined;
  let next = 0;
  for (const event of events) {
    const { type, index } = event;
    if (encodeMessageEvent(event)['type'] !== type) throw new Error('an event has lost its type');
    if (index === undefined) continue;
    const isBegun = type === 'content_block_start';
    if (isBegun ? open !== undefined || index !== next++ : open !== index)
      throw new Error(`${type} is out of order`);
    open = type === 'content_block_stop' ? undefined : index;
  }
  if (open !== undefined || events.at(-1)?.type !== 'message_stop') throw new Error('a block has no end');
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
