/** Chat answers that stay JSON on their way from a server that speaks it to a client that does. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import {
  type ChatCompletion,
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  ChatCompletionSchema,
  type Usage,
  UsageSchema,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import type { ChatForm, ChoiceState } from '../core/chat/answer.ts';
import { reasoningMembers } from '../core/chat/text.ts';
import { type JsonCodec, jsonCodec } from './codec.ts';
import { isObject, setMember } from './members.ts';

type Message = ChatCompletion | ChatCompletionChunk;
/** The member of a choice that has what is said. */
type Said = 'message' | 'delta';

export interface ChatCodec<M extends Message> {
  /** Takes over the JSON of another server's answer: all that it has, of whatever kind, stays in its place. */
  decode(json: JsonObject): ChatForm<M>;
  encode(form: ChatForm<M>): JsonValue;
}

type Defaults = readonly (readonly [member: string, value: JsonValue])[];

/** What a message has also where nobody says it, so that the same answer is the same over every wire. */
const implied: Defaults = [
  ['id', ''],
  ['object', ''],
  ['created', 0],
];
const impliedInChoice: Defaults = [['index', 0]];

const usageCodec = jsonCodec(UsageSchema);

export const answerCodec = chatCodec(jsonCodec(ChatCompletionSchema), 'message');
export const chunkCodec = chatCodec(jsonCodec(ChatCompletionChunkSchema), 'delta');

function chatCodec<M extends Message>(codec: JsonCodec<M>, said: Said): ChatCodec<M> {
  return {
    decode: (json) => new JsonForm(json, codec, said),
    encode: (form) => (form instanceof JsonForm ? form.json : codec.encode(form.message)),
  };
}

/** Reads its members with care: they are what another server makes of them. */
class JsonForm<M extends Message> implements ChatForm<M> {
  json: JsonObject;
  readonly #codec: JsonCodec<M>;
  readonly #said: Said;
  readonly #choices: readonly JsonObject[];

  constructor(json: JsonObject, codec: JsonCodec<M>, said: Said) {
    giveDefaults(json, implied);
    if (json['choices'] === undefined) json['choices'] = [];
    this.json = json;
    this.#codec = codec;
    this.#said = said;
    this.#choices = objectsOf(json['choices']);
    for (const choice of this.#choices) giveDefaults(choice, impliedInChoice);
  }

  get text(): string {
    let text = '';
    for (const choice of this.#choices) text += saidText(choice[this.#said]);
    return text;
  }

  get choices(): readonly ChoiceState[] {
    return this.#choices.map(({ index, finish_reason: finishReason }) => ({
      index: typeof index === 'number' ? index : 0,
      finishReason: stringOf(finishReason),
    }));
  }

  get other(): JsonObject | undefined {
    return this.message.other;
  }

  get message(): M {
    return this.#codec.decodeLeniently(this.json).message;
  }

  setModel(model: string): void {
    this.json['model'] = model;
  }

  setUsage(usage: Usage): void {
    this.json['usage'] = usageCodec.encode(usage);
  }

  takeUsage(): Usage | undefined {
    const { usage, ...others } = this.json;
    if (usage === undefined) return undefined;
    // A copy costs a fifth of `delete`, after which the object is slow in all that follows.
    this.json = others;
    // Of another kind it is no report, and must not stand where the client looks for the meter's.
    return isObject(usage) ? usageCodec.decodeLeniently(usage).message : undefined;
  }

  addOther(members: JsonObject): void {
    for (const [name, value] of Object.entries(members)) setMember(this.json, name, value);
  }
}

function giveDefaults(json: JsonObject, defaults: Defaults): void {
  for (const [name, value] of defaults) if (json[name] === undefined) json[name] = value;
}

/** The same text as core/chat-text finds in a message. */
function saidText(said: JsonValue | undefined): string {
  if (!isObject(said)) return '';
  const reasoning = reasoningMembers.map((member) => said[member]).find((text) => typeof text === 'string');
  return (
    contentText(said['content']) +
    stringOf(said['refusal']) +
    toolText(said['tool_calls']) +
    (reasoning ?? '')
  );
}

function contentText(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  return objectsOf(content)
    .map(({ text }) => stringOf(text))
    .join('\n');
}

function toolText(calls: JsonValue | undefined): string {
  let text = '';
  for (const { function: called } of objectsOf(calls)) {
    if (isObject(called)) text += stringOf(called['name']) + stringOf(called['arguments']);
  }
  return text;
}

function stringOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
