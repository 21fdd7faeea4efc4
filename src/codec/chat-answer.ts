/** Chat answers that stay JSON on their way from an upstream to a REST client. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import {
  type ChatCompletion,
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  ChatCompletionSchema,
  type Usage,
  UsageSchema,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import { type AnswerHead, type ChatForm, type ChoiceState, secondsOf } from '../core/entities/chat-answer.ts';
import { type ChatOutput, OutputReader } from '../core/entities/chat-output.ts';
import { isObject } from '../core/values/json.ts';
import { withDoubles } from '../core/values/long-integers.ts';
import { type JsonCodec, jsonCodec } from './codec.ts';
import { objectsOf, setMember, stringOf } from './shape.ts';

type Message = ChatCompletion | ChatCompletionChunk;
/** The member of a choice that holds its text. */
type TextMember = 'message' | 'delta';

interface ChatCodec<M extends Message> {
  /** Takes ownership of an upstream's JSON. Keeps all members unchanged. */
  decode(json: JsonObject): ChatForm<M>;
  /** The JSON for a client, with all members that its types promise. */
  encode(form: ChatForm<M>): JsonObject;
}

type Defaults = readonly (readonly [member: string, value: JsonValue])[];

/** The default in a protobuf message, so that an answer is the same on every wire. */
const impliedInChoice: Defaults = [['index', 0]];

/** Members that clients' types require: of a choice, and of its text. */
const promised: Readonly<Record<TextMember, { readonly choice: Defaults; readonly text: Defaults }>> = {
  message: {
    choice: [
      ['logprobs', null],
      ['finish_reason', null],
    ],
    text: [
      ['role', 'assistant'],
      ['content', null],
      ['refusal', null],
    ],
  },
  delta: { choice: [['finish_reason', null]], text: [] },
};

const usageCodec = jsonCodec(UsageSchema);

export const answerCodec = chatCodec(jsonCodec(ChatCompletionSchema), 'message');
export const chunkCodec = chatCodec(jsonCodec(ChatCompletionChunkSchema), 'delta');

function chatCodec<M extends Message>(codec: JsonCodec<M>, member: TextMember): ChatCodec<M> {
  return {
    decode: (json) => new JsonForm(json, codec, member),
    encode: (form) => {
      const json = form instanceof JsonForm ? form.json : codec.encode(form.message);
      if (!isObject(json)) throw new Error('an answer is not an object');
      for (const choice of objectsOf(json['choices'])) givePromised(choice, member);
      return json;
    },
  };
}

/** Members may have any type: another server wrote them. */
class JsonForm<M extends Message> implements ChatForm<M> {
  json: JsonObject;
  readonly #codec: JsonCodec<M>;
  readonly #member: TextMember;
  readonly #choices: readonly JsonObject[];
  #read: ChatOutput | undefined;

  constructor(json: JsonObject, codec: JsonCodec<M>, member: TextMember) {
    if (json['choices'] === undefined) json['choices'] = [];
    this.json = json;
    this.#codec = codec;
    this.#member = member;
    this.#choices = objectsOf(json['choices']);
    for (const choice of this.#choices) {
      giveDefaults(choice, impliedInChoice);
      writeCallTexts(choice[member]);
    }
  }

  get output(): ChatOutput {
    this.#read ??= outputOf(this.#choices, this.#member);
    return this.#read;
  }

  get choices(): readonly ChoiceState[] {
    return this.#choices.map(({ index, finish_reason: finishReason }) => ({
      index: typeof index === 'number' ? index : 0,
      finishReason: stringOf(finishReason),
    }));
  }

  get other(): JsonObject | undefined {
    return this.#codec.decodeLeniently(this.json).other;
  }

  get message(): M {
    const message = this.#codec.decodeLeniently(withDoubles(this.json));
    // An absent field in a message stands for null in JSON, where `encode` writes it again.
    for (const choice of message.choices) dropNulls(choice, promised[this.#member].choice);
    return message;
  }

  setHead({ id, object, created, model }: AnswerHead): void {
    const { json } = this;
    json['id'] = stringOf(json['id']) || id;
    json['object'] = stringOf(json['object']) || object;
    json['created'] = secondsOf(json['created']) ?? created;
    json['model'] = model;
  }

  setUsage(usage: Usage): void {
    this.json['usage'] = usageCodec.encode(usage);
  }

  takeUsage(): Usage | undefined {
    const { usage, ...others } = this.json;
    // A copy costs a fifth of `delete`, which would slow down the object from then on.
    if (usage !== undefined) this.json = others;
    // Moonshot reports it in the choice that ends.
    const reported = usage ?? this.#choices.find((choice) => choice['usage'] != null)?.['usage'];
    // Usage that is not an object is dropped, as clients read the metered usage here.
    return isObject(reported) ? usageCodec.decodeLeniently(withDoubles(reported)) : undefined;
  }

  addOther(members: JsonObject): void {
    for (const [name, value] of Object.entries(members)) setMember(this.json, name, value);
  }
}

/** Some servers send the arguments of a call as an object. All clients expect its JSON. */
function writeCallTexts(text: JsonValue | undefined): void {
  if (!isObject(text)) return;
  writeText(text['function_call'], 'arguments');
  for (const { function: called, custom } of objectsOf(text['tool_calls'])) {
    writeText(called, 'arguments');
    writeText(custom, 'input');
  }
}

function writeText(call: JsonValue | undefined, member: string): void {
  const value = isObject(call) ? call[member] : undefined;
  if (isObject(call) && value != null && typeof value !== 'string') call[member] = JSON.stringify(value);
}

function dropNulls(choice: { other?: JsonObject | undefined }, promised: Defaults): void {
  const { other } = choice;
  if (other === undefined) return;
  for (const [name] of promised) if (other[name] === null) delete other[name];
  if (Object.keys(other).length === 0) choice.other = undefined;
}

function giveDefaults(json: JsonObject, defaults: Defaults): void {
  for (const [name, value] of defaults) if (json[name] === undefined) json[name] = value;
}

function givePromised(choice: JsonObject, member: TextMember): void {
  giveDefaults(choice, promised[member].choice);
  choice[member] ??= {};
  const text = choice[member];
  if (isObject(text)) giveDefaults(text, promised[member].text);
}

/** The same output that core/entities/chat-output.ts finds in a message. */
function outputOf(choices: readonly JsonObject[], member: TextMember): ChatOutput {
  const output = new OutputReader();
  for (const { [member]: members, logprobs } of choices) {
    const before = output.text;
    if (isObject(members)) addText(output, members);
    const { content, refusal } = isObject(logprobs) ? logprobs : {};
    const tokens = [...objectsOf(content), ...objectsOf(refusal)];
    output.addTokens(
      tokens.map(({ token }) => stringOf(token)),
      before,
    );
  }
  return output;
}

function addText(output: OutputReader, text: JsonObject): void {
  const { role: _, content, refusal, tool_calls: calls, ...others } = text;
  output.addValue(content, 'content');
  output.addValue(refusal);
  if (objectsOf(calls).length > 0) output.hasOutput = true;
  output.addValue(calls);
  output.addMembers(others);
}
