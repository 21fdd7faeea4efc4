/** Joins the chunks of a stream that a server sends in place of a plain answer. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { objectsOf, setMember } from '../../../codec/shape.ts';
import { joinedBase64 } from '../../../core/chat/answer-pieces.ts';
import { joined } from '../../../core/chat/reasoning.ts';
import { isObject } from '../../../core/values/json.ts';
import { CallNumbers } from './call-numbers.ts';
import { MessageChunks, usualForm } from './choice-forms.ts';
import { readWhole } from './json.ts';
import { areEvents, beginningOf, doneData, SseReader } from './sse.ts';

/**
 * The answer as JSON; undefined if the body is no stream of events. An event that is an error stands for all of it.
 * @param toChunk reads events of another API; returns undefined for those without news. Default: each is a chunk
 */
export function joinEvents(
  body: Buffer,
  toChunk?: (event: unknown) => JsonObject | undefined,
): JsonObject | undefined {
  if (!areEvents(beginningOf(body))) return undefined;
  const reader = new SseReader();
  const numbers = new CallNumbers();
  const messages = new MessageChunks();
  const answer: JsonObject = {};
  const choices = new Map<number, JoinedChoice>();
  let isDone = false;
  for (const { name, data } of [...reader.read(body), ...reader.end()]) {
    isDone ||= data === doneData;
    if (isDone) break;
    const event = readWhole(data);
    const chunk = toChunk ? (toChunk(event) ?? {}) : event;
    if (!isObject(chunk)) return { error: data };
    if (chunk['error'] != null) return chunk;
    if (name === 'error') return { error: chunk };
    usualForm(chunk);
    messages.give(chunk);
    numbers.give(chunk);
    const { choices: parts, ...members } = chunk;
    merge(answer, members, (_, value) => value);
    for (const part of objectsOf(parts)) {
      const index = typeof part['index'] === 'number' ? part['index'] : 0;
      const choice = choices.get(index) ?? new JoinedChoice();
      choices.set(index, choice);
      choice.add(part);
    }
  }
  const joined = [...choices].map(([index, choice]) => ({ ...choice.toJson(isDone), index }));
  return { ...answer, object: 'chat.completion', choices: joined };
}

export class JoinedChoice {
  readonly #members: JsonObject = {};
  readonly #message: JsonObject = { role: 'assistant', content: null };
  /** By their index. */
  readonly #calls = new Map<number, JsonObject>();

  add({ delta, ...members }: JsonObject): void {
    merge(this.#members, members, join);
    const { tool_calls: pieces, ...texts } = isObject(delta) ? delta : {};
    merge(this.#message, texts, join);
    for (const { index, ...piece } of objectsOf(pieces)) {
      const call = this.#calls.get(Number(index)) ?? {};
      this.#calls.set(Number(index), call);
      merge(call, piece, join);
    }
  }

  /** @param isDone whether the stream is whole, so that the choice has ended even if it gives no reason */
  toJson(isDone: boolean): JsonObject {
    const calls = [...this.#calls.values()];
    const message = { ...this.#message, ...(calls.length > 0 && { tool_calls: calls }) };
    const audio = this.#message['audio'];
    if (isObject(audio) && typeof audio['data'] === 'string') audio['data'] = joinedBase64(audio['data']);
    const reason = isDone && { finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' };
    return { ...this.#members, ...(!this.#members['finish_reason'] && reason), message };
  }
}

type Join = (before: JsonValue | undefined, value: JsonValue, name: string) => JsonValue;

/** Adds the members that are not null. */
function merge(target: JsonObject, members: JsonObject, joining: Join): void {
  for (const [name, value] of Object.entries(members)) {
    const before = Object.hasOwn(target, name) ? target[name] : undefined;
    if (value !== null) setMember(target, name, joining(before, value, name));
  }
}

/** Texts that are not sent in pieces. */
const wholeTexts: readonly string[] = ['role', 'id', 'type', 'name', 'finish_reason', 'format', 'url'];

function join(before: JsonValue | undefined, value: JsonValue, name: string): JsonValue {
  if (isObject(before) && isObject(value)) {
    merge(before, value, join);
    return before;
  }
  return wholeTexts.includes(name) ? value || (before ?? value) : joined(before, value);
}
