import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import {
  ChatCompletionChunkSchema,
  ChatCompletionParamsSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { type ResponseEvent, ResponseParamsSchema } from '../../../gen/parley/responses/v1/responses_pb.ts';
import { jsonCodec } from '../../../src/codec/codec.ts';
import { AnswerReasoning, ReasoningSeal } from '../../../src/core/chat/reasoning.ts';
import { toChatParams } from '../../../src/core/responses/chat-params.ts';
import { ResponseAnswer } from '../../../src/core/responses/dialect.ts';
import { newAccountId, newRequestId } from '../../../src/core/values/ids.ts';
import { encodeEvent } from '../../../src/transports/rest/responses.ts';
import { type FuzzTarget, refusable } from '../target.ts';

const paramsCodec = jsonCodec(ResponseParamsSchema);
const chatCodec = jsonCodec(ChatCompletionParamsSchema);
const chunkCodec = jsonCodec(ChatCompletionChunkSchema);

/** The first byte chooses between a request and the chunks of an answer. */
export const responses: FuzzTarget = {
  seeds: [
    '0{"model":"a","input":"b","instructions":"c","max_output_tokens":5,"text":{"format":{"type":"json_schema","name":"d","schema":{}}},"reasoning":{"effort":"low"},"x":{"y":[null]}}',
    '0{"model":"a","input":[{"role":"user","content":[{"type":"input_text","text":"b"},{"type":"input_image","image_url":"c"}]},{"type":"function_call","call_id":"d","name":"e","arguments":"{}"},{"type":"function_call_output","call_id":"d","output":"f"},{"type":"reasoning","id":"g"}],"tools":[{"type":"function","name":"e","parameters":{}}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"e"}]}}',
    '1[{"choices":[{"delta":{"reasoning_content":"a"}}]},{"choices":[{"delta":{"content":"b"}}]},{"choices":[{"delta":{"refusal":"c"},"finish_reason":"length"}]}]',
    '1[{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"b","arguments":"{"}}]}}]},{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}},{"id":"c"}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}]',
  ],
  words: [
    'null',
    '[]',
    '{}',
    '""',
    '"__proto__":',
    '"constructor"',
    '"type":',
    '"content":',
    '"index":1',
    ',',
  ],
  open: () => ({
    read(input) {
      const json = parsed(input.toString('utf8', 1));
      if (json === undefined) return;
      if ((input[0] ?? 0) % 2 === 0) readRequest(json);
      else checkEvents(eventsOf(Array.isArray(json) ? json : [json]));
    },
  }),
};

function readRequest(json: JsonValue): void {
  refusable(() => JSON.stringify(chatCodec.encode(toChatParams(paramsCodec.decode(json)))));
}

function eventsOf(chunks: readonly JsonValue[]): ResponseEvent[] {
  const call = { id: newRequestId(0), startedAtMs: 0 };
  const events: ResponseEvent[] = [];
  const reasoning = new AnswerReasoning(new ReasoningSeal('secret'), newAccountId(0));
  const answer = new ResponseAnswer(
    paramsCodec.decodeLeniently({}),
    call,
    (event) => events.push(event),
    reasoning,
  );
  answer.begin('');
  for (const chunk of chunks) answer.take(chunkCodec.decodeLeniently(chunk));
  answer.finish();
  return events;
}

/** Each item begins and ends once, in order, and each event is within its item. */
function checkEvents(events: readonly ResponseEvent[]): void {
  const states: ('open' | 'ended')[] = [];
  for (const [index, event] of events.entries()) {
    const { type, sequenceNumber, outputIndex } = event;
    if (sequenceNumber !== index) throw new Error(`event ${index} has the number ${sequenceNumber}`);
    const json: JsonObject = encodeEvent(event);
    if (json['type'] !== type) throw new Error('an event has lost its type');
    if (outputIndex === undefined) continue;
    const isBegun = type === 'response.output_item.added';
    if (states[outputIndex] !== (isBegun ? undefined : 'open')) throw new Error(`${type} is out of order`);
    if (isBegun && outputIndex !== states.length) throw new Error('an item leaves a gap');
    states[outputIndex] = type === 'response.output_item.done' ? 'ended' : 'open';
  }
  const response = events.at(-1)?.response;
  if (response?.output.length !== states.length || states.includes('open'))
    throw new Error('an item has no end');
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
