/** Answers of a chat model, and pieces of them, in the form in which they came: who needs another form makes it. */
import type { JsonObject } from '@bufbuild/protobuf';
import type { ChatCompletion, ChatCompletionChunk, Usage } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { chunkText, completionText } from './text.ts';

/** What core reads of an answer and writes into it. All else it leaves as it came. */
export interface ChatForm<Message extends ChatCompletion | ChatCompletionChunk> {
  /** All text of it, tool calls and reasoning included; empty where a chunk has only a role, a finish reason or usage. */
  readonly text: string;
  readonly choices: readonly ChoiceState[];
  /** The members that the schema does not name. */
  readonly other: JsonObject | undefined;
  /** It as a message of the schema, made anew where it came in another form. */
  readonly message: Message;
  setModel(model: string): void;
  setUsage(usage: Usage): void;
  /** The usage that it reports; it is without it then. */
  takeUsage(): Usage | undefined;
  addOther(members: JsonObject): void;
}

export interface ChoiceState {
  readonly index: number;
  /** Undefined or empty while more of the choice is to come. */
  readonly finishReason?: string | undefined;
}

export type ChatAnswer = ChatForm<ChatCompletion>;
export type ChatChunk = ChatForm<ChatCompletionChunk>;

export function messageAnswer(completion: ChatCompletion): ChatAnswer {
  return new MessageForm(completion, completionText);
}

export function messageChunk(chunk: ChatCompletionChunk): ChatChunk {
  return new MessageForm(chunk, chunkText);
}

class MessageForm<Message extends ChatCompletion | ChatCompletionChunk> implements ChatForm<Message> {
  readonly message: Message;
  readonly #textOf: (message: Message) => string;

  constructor(message: Message, textOf: (message: Message) => string) {
    this.message = message;
    this.#textOf = textOf;
  }

  get text(): string {
    return this.#textOf(this.message);
  }

  get choices(): readonly ChoiceState[] {
    return this.message.choices;
  }

  get other(): JsonObject | undefined {
    return this.message.other;
  }

  setModel(model: string): void {
    this.message.model = model;
  }

  setUsage(usage: Usage): void {
    this.message.usage = usage;
  }

  takeUsage(): Usage | undefined {
    const { usage } = this.message;
    delete this.message.usage;
    return usage;
  }

  addOther(members: JsonObject): void {
    this.message.other = { ...this.message.other, ...members };
  }
}
