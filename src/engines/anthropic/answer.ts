/** Reads answers of the Messages API as those of a chat. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { answerCodec, chunkCodec } from '../../codec/chat-answer.ts';
import { objectsOf, stringOf } from '../../codec/shape.ts';
import type { ChatAnswer, ChatChunk } from '../../core/entities/chat-answer.ts';
import type { ParleyError } from '../../core/values/errors.ts';
import { isObject, present } from '../../core/values/json.ts';
import { JoinedChoice } from '../openai/chat/joined-chunks.ts';
import { malformedResponse } from '../openai/errors.ts';

/** Creates the error that the JSON of an answer reports. */
type Report = (body: string) => ParleyError;

/** Why an answer ended, in the words of a chat. Default: `stop`. */
const finishReasons: ReadonlyMap<unknown, string> = new Map([
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'content_filter'],
]);

/**
 * @param json a message, or a chat's answer that was joined from events
 * @throws `upstream_error` if the answer is an error or malformed
 */
export function readMessage(json: unknown, report: Report): ChatAnswer {
  if (!isObject(json)) throw malformedResponse('the answer is not an object');
  if (json['type'] === 'error') throw report(JSON.stringify(json));
  if (json['choices'] !== undefined) return answerCodec.decode(json);
  const { id, content, stop_reason: reason, stop_sequence: sequence, usage } = json;
  if (!Array.isArray(content)) throw malformedResponse('the answer has no content');
  const choice = new JoinedChoice();
  for (const [at, block] of objectsOf(content).entries()) choice.add({ delta: deltaOf(block, at, at) });
  choice.add(endOf(reason, sequence));
  const choices = [{ index: 0, ...choice.toJson(false) }];
  return answerCodec.decode(
    present({ id, object: 'chat.completion', choices, usage: usageOf(usage) }) as JsonObject,
  );
}

/** @returns also the stop sequence, under the name that vLLM has for it */
function endOf(reason: JsonValue | undefined, sequence: JsonValue | undefined): JsonObject {
  const end = { finish_reason: reason == null ? null : (finishReasons.get(reason) ?? 'stop') };
  return typeof sequence === 'string' ? { ...end, stop_reason: sequence } : end;
}

/** The tokens of the cache are not among the input tokens of this API. */
function usageOf(usage: JsonValue | undefined): JsonObject | undefined {
  if (!isObject(usage)) return undefined;
  const count = (name: string) => (typeof usage[name] === 'number' ? usage[name] : 0);
  const [cached, written] = [count('cache_read_input_tokens'), count('cache_creation_input_tokens')];
  const [prompt, completion] = [count('input_tokens') + cached + written, count('output_tokens')];
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
  };
}

/** A block, or its beginning, as a piece of a chat's message. @param call the number of a call among the calls */
function deltaOf(block: JsonObject, index: number, call: number): JsonObject {
  const { type, text, thinking, signature, data, id, name, input, citations } = block;
  switch (type) {
    case 'text':
      return present({ content: text, citations }) as JsonObject;
    case 'thinking':
      return thinkingDelta(index, stringOf(thinking) ?? '', signature);
    case 'redacted_thinking':
      return { reasoning_details: [{ type, index, data: data ?? '' }] };
    case 'tool_use': {
      const called = { name: name ?? '', arguments: isObject(input) ? JSON.stringify(input) : '' };
      return { tool_calls: [{ index: call, id: id ?? '', type: 'function', function: called }] };
    }
    default:
      return {};
  }
}

/** The text twice: as chats have it, and as the upstream wants it back. */
function thinkingDelta(index: number, thinking: string, signature?: JsonValue): JsonObject {
  const detail = present({ type: 'thinking', index, thinking, signature: signature || undefined });
  return present({ reasoning_content: thinking || undefined, reasoning_details: [detail] }) as JsonObject;
}

function pieceOf(delta: JsonObject, index: JsonValue | undefined): JsonObject {
  const { type, text, thinking, signature, citation } = delta;
  switch (type) {
    case 'text_delta':
      return { content: text ?? '' };
    case 'thinking_delta':
      return thinkingDelta(Number(index), stringOf(thinking) ?? '');
    case 'signature_delta':
      return thinkingDelta(Number(index), '', signature);
    case 'citations_delta':
      return isObject(citation) ? { citations: [citation] } : {};
    default:
      return {};
  }
}

/** Reads the events of one streamed answer. */
export class MessageEvents {
  readonly #report: Report;
  #id: JsonValue = '';
  #usage: JsonObject = {};
  /** The numbers of the calls, by the places of their blocks. */
  readonly #calls = new Map<unknown, number>();
  /** The places of calls whose input has not begun. */
  readonly #withoutInput = new Set<unknown>();

  constructor(report: Report) {
    this.#report = report;
  }

  /** @returns undefined for an event without news. @throws `upstream_error` if the event is an error or malformed */
  read(event: unknown): ChatChunk | undefined {
    const chunk = this.toChunk(event);
    return chunk && chunkCodec.decode(chunk);
  }

  /** The same as JSON. */
  toChunk(json: unknown): JsonObject | undefined {
    if (!isObject(json)) throw malformedResponse('an event is not an object');
    const { type, message, delta, usage, content_block: block, index } = json;
    switch (type) {
      case 'error':
        throw this.#report(JSON.stringify(json));
      case 'message_start':
        if (isObject(message)) this.#id = message['id'] ?? '';
        // Its output tokens are a beginning. The report is that of the end.
        this.#note(
          isObject(message) && isObject(message['usage']) ? { ...message['usage'], output_tokens: 0 } : {},
        );
        return this.#chunk({ role: 'assistant', content: '' });
      case 'content_block_start':
        if (!isObject(block)) return undefined;
        if (block['type'] === 'tool_use') return this.#beginCall(block, index);
        return this.#chunk(deltaOf(block, Number(index), 0));
      case 'content_block_delta':
        if (!isObject(delta)) return undefined;
        if (delta['type'] !== 'input_json_delta') return this.#chunk(pieceOf(delta, index));
        if (delta['partial_json']) this.#withoutInput.delete(index);
        return this.#input(index, delta['partial_json'] ?? '');
      case 'content_block_stop':
        return this.#withoutInput.delete(index) ? this.#input(index, '{}') : undefined;
      case 'message_delta': {
        this.#note(usage);
        const { stop_reason: reason, stop_sequence: sequence } = isObject(delta) ? delta : {};
        return reason == null ? undefined : this.#chunk({}, endOf(reason, sequence));
      }
      default:
        return undefined;
    }
  }

  /** Its input is empty here, and follows in pieces. A call without parameters has none. */
  #beginCall(block: JsonObject, index: JsonValue | undefined): JsonObject {
    const { input, ...begun } = block;
    const isWhole = isObject(input) && Object.keys(input).length > 0;
    if (!isWhole) this.#withoutInput.add(index);
    this.#calls.set(index, this.#calls.size);
    return this.#chunk(deltaOf(isWhole ? block : begun, Number(index), this.#calls.size - 1));
  }

  #input(index: JsonValue | undefined, json: JsonValue): JsonObject {
    return this.#chunk({
      tool_calls: [{ index: this.#calls.get(index) ?? 0, function: { arguments: json } }],
    });
  }

  /** The counts of an event are those of the answer so far. Some servers send zeros at the end. */
  #note(usage: JsonValue | undefined): void {
    for (const [name, value] of Object.entries(isObject(usage) ? usage : {})) {
      if (value !== null) this.#usage[name] = value || (this.#usage[name] ?? value);
    }
  }

  #chunk(delta: JsonObject, end: JsonObject = {}): JsonObject {
    const choices = [{ index: 0, delta, finish_reason: null, ...end }];
    const usage = usageOf(this.#usage) ?? {};
    return { id: this.#id, object: 'chat.completion.chunk', choices, usage };
  }
}
