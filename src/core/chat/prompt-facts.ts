import { toJsonString } from '@bufbuild/protobuf';
import {
  type ChatCompletionParams,
  ChatCompletionParamsSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { HoldFacts } from '../billing/hold.ts';
import { promptBytes, promptText } from '../entities/chat-text.ts';
import type { ChatModel } from '../entities/model.ts';
import { takeLimit } from './output-limit.ts';
import { refersElsewhere } from './references.ts';

/** Counts the tokens of a text, up to the context of the model. */
type CountTokens = (text: string) => Promise<number>;

/** Facts about a prompt for its hold. Most requests need few of them, so each is found at its first use. */
export class PromptFacts implements HoldFacts {
  readonly model: ChatModel;
  readonly params: ChatCompletionParams;
  readonly requestedLimit: number;
  readonly requestBytes: number;
  readonly #count: CountTokens;
  #textBytes: number | undefined;
  #refers: boolean | undefined;
  #requestTokens: Promise<number> | undefined;
  #textTokens: Promise<number> | undefined;

  /** Takes the client's limit out of `params`. */
  constructor(model: ChatModel, params: ChatCompletionParams, requestBytes: number, count: CountTokens) {
    this.model = model;
    this.params = params;
    this.requestedLimit = takeLimit(params);
    this.requestBytes = requestBytes;
    this.#count = count;
  }

  get textBytes(): number {
    this.#textBytes ??= promptBytes(this.params);
    return this.#textBytes;
  }

  get refers(): boolean {
    this.#refers ??= refersElsewhere(this.params);
    return this.#refers;
  }

  countRequest(): Promise<number> {
    this.#requestTokens ??= this.#count(toJsonString(ChatCompletionParamsSchema, this.params));
    return this.#requestTokens;
  }

  countText(): Promise<number> {
    this.#textTokens ??= this.#count(promptText({ ...this.params, tools: [] }));
    return this.#textTokens;
  }
}
