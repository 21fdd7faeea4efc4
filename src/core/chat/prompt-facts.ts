import { toJsonString } from '@bufbuild/protobuf';
import {
  type ChatCompletionParams,
  ChatCompletionParamsSchema,
  ResponseFormatSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { promptBytes, promptText } from '../entities/chat-text.ts';
import type { ChatModel } from '../entities/model.ts';
import type { Price } from '../values/money.ts';
import { type Reference, referencesOf, withoutImages } from './references.ts';

/** Counts the tokens of a text, up to the context of the model. */
type CountTokens = (text: string) => Promise<number>;

interface KnownFacts {
  readonly model: ChatModel;
  /** The price that the client pays. */
  readonly price: Price;
  readonly params: ChatCompletionParams;
  /** The client's limit for each choice, which is no longer in `params`; Infinity without one. */
  readonly requestedLimit: number;
  /** Bytes of the request. No tokenizer makes more tokens than bytes. */
  readonly requestBytes: number;
  readonly count: CountTokens;
}

/**
 * Facts about a prompt for its hold, for all attempts to hold credits. Most requests need few of them, so each is found at its first
 * use.
 */
export class PromptFacts {
  readonly model: ChatModel;
  readonly price: Price;
  readonly params: ChatCompletionParams;
  readonly requestedLimit: number;
  readonly requestBytes: number;
  readonly #count: CountTokens;
  #textBytes: number | undefined;
  #references: readonly Reference[] | undefined;
  #requestTokens: Promise<number> | undefined;
  #textTokens: Promise<number> | undefined;
  #roomTokens: Promise<number> | undefined;

  constructor({ model, price, params, requestedLimit, requestBytes, count }: KnownFacts) {
    this.model = model;
    this.price = price;
    this.params = params;
    this.requestedLimit = requestedLimit;
    this.requestBytes = requestBytes;
    this.#count = count;
  }

  /** Bytes of the prompt's text, its tools and the form of its answer. */
  get textBytes(): number {
    this.#textBytes ??= promptBytes(this.params) + Buffer.byteLength(formText(this.params));
    return this.#textBytes;
  }

  /** Content whose tokens cannot be counted here: images, and content of unknown length. */
  get references(): readonly Reference[] {
    this.#references ??= referencesOf(this.params, this.model.imageTokens);
    return this.#references;
  }

  /** Counts the tokens of the whole request, but those of its images. For a prompt whose bound by bytes is not affordable. */
  countRequest(): Promise<number> {
    const { params, references } = this;
    const texts = references.length === 0 ? params : withoutImages(params);
    this.#requestTokens ??= this.#count(toJsonString(ChatCompletionParamsSchema, texts));
    return this.#requestTokens;
  }

  /** Upstreams shorten tools in their own ways, so only the messages tell that a prompt is too long. */
  countMessages(): Promise<number> {
    this.#textTokens ??= this.#count(promptText({ ...this.params, tools: [] }));
    return this.#textTokens;
  }

  /** Counts all that takes room in the context. For a prompt that may not leave room for the longest answer. */
  countRoom(): Promise<number> {
    const { params } = this;
    const definitions = promptText({ ...params, messages: [] }) + formText(params);
    this.#roomTokens ??=
      definitions === ''
        ? this.countMessages()
        : Promise.all([this.countMessages(), this.#count(definitions)]).then(([text, more]) => text + more);
    return this.#roomTokens;
  }
}

/** The form of the answer, and functions in their older form, as servers show them to the model. */
function formText({ responseFormat, other }: ChatCompletionParams): string {
  const form = responseFormat ? toJsonString(ResponseFormatSchema, responseFormat) : '';
  return other?.['functions'] ? form + JSON.stringify(other['functions']) : form;
}
