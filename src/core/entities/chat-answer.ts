/** Chat answers and chunks in the form in which the engine received them. They are converted only if a transport needs to. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { ChatCompletion, ChatCompletionChunk, Usage } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { numberOf } from '../values/long-integers.ts';
import { asChunk, type ChatOutput, chunkOutput } from './chat-output.ts';

/** The members that every answer and chunk begins with. */
export interface AnswerHead {
  readonly id: string;
  readonly object: 'chat.completion' | 'chat.completion.chunk';
  /** Seconds since 1970. */
  readonly created: number;
  /** The id in the catalog. */
  readonly model: string;
}

/** The parts of an answer that core reads and writes. Everything else stays unchanged. */
export interface ChatForm<Message extends ChatCompletion | ChatCompletionChunk> {
  readonly output: ChatOutput;
  readonly choices: readonly ChoiceState[];
  /** Members that the schema does not name. */
  readonly other: JsonObject | undefined;
  /** The answer as a message of the schema, converted on each read if it arrived in another form. */
  readonly message: Message;
  /** Sets the model, and every member that the engine omitted, left empty or sent in another type. */
  setHead(head: AnswerHead): void;
  setUsage(usage: Usage): void;
  /** Returns the reported usage and removes it from the answer. */
  takeUsage(): Usage | undefined;
  addOther(members: JsonObject): void;
}

export interface ChoiceState {
  readonly index: number;
  /** Undefined or empty until the choice ends. */
  readonly finishReason?: string | undefined;
}

export type ChatAnswer = ChatForm<ChatCompletion>;
export type ChatChunk = ChatForm<ChatCompletionChunk>;

export function messageAnswer(completion: ChatCompletion): ChatAnswer {
  return new MessageForm(completion, (whole) => chunkOutput(asChunk(whole)));
}

export function messageChunk(chunk: ChatCompletionChunk): ChatChunk {
  return new MessageForm(chunk, chunkOutput);
}

/** Whole seconds since 1970; undefined for an invalid time. Some servers send a fraction, or a text. */
export function secondsOf(created: JsonValue | undefined): number | undefined {
  const seconds = typeof created === 'string' ? Number(created) : numberOf(created);
  return seconds !== undefined && seconds >= 1 && Number.isSafeInteger(Math.floor(seconds))
    ? Math.floor(seconds)
    : undefined;
}

class MessageForm<Message extends ChatCompletion | ChatCompletionChunk> implements ChatForm<Message> {
  readonly message: Message;
  readonly #outputOf: (message: Message) => ChatOutput;
  #read: ChatOutput | undefined;

  constructor(message: Message, outputOf: (message: Message) => ChatOutput) {
    this.message = message;
    this.#outputOf = outputOf;
  }

  get output(): ChatOutput {
    this.#read ??= this.#outputOf(this.message);
    return this.#read;
  }

  get choices(): readonly ChoiceState[] {
    return this.message.choices;
  }

  get other(): JsonObject | undefined {
    return this.message.other;
  }

  setHead({ id, object, created, model }: AnswerHead): void {
    const { message } = this;
    message.id ||= id;
    message.object ||= object;
    if (message.created <= 0n) message.created = BigInt(secondsOf(message.other?.['created']) ?? created);
    message.model = model;
  }

  setUsage(usage: Usage): void {
    this.message.usage = usage;
  }

  takeUsage(): Usage | undefined {
    const { usage } = this.message;
    // `delete` would make the message slow to encode.
    if (usage !== undefined) this.message.usage = undefined;
    return usage;
  }

  addOther(members: JsonObject): void {
    this.message.other = { ...this.message.other, ...members };
  }
}
