import { create, type JsonObject } from '@bufbuild/protobuf';
import { ChatCompletionChunkSchema, type Usage } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { type AnswerHead, type ChatChunk, messageChunk } from '../entities/chat-answer.ts';
import type { ChatOutput } from '../entities/chat-output.ts';
import { StreamChoices } from '../entities/stream-choices.ts';
import { ParleyError } from '../values/errors.ts';

const piecesMax = 256;

/**
 * Collects a streamed answer. Chunks pass through as they arrive, except the one that completes the last choice, which
 * is held until the usage is known and settled.
 */
export class StreamedAnswer implements ChatOutput {
  readonly #headOf: () => AnswerHead;
  #head: AnswerHead | undefined;
  #text = '';
  #pieces: string[] = [];
  #held: ChatChunk | undefined;
  readonly #choices = new StreamChoices();
  usage: Usage | undefined;
  hasOutput = false;
  isOpaque = false;

  /** @param headOf returns the head for chunks without one, once the first of them is there */
  constructor(headOf: () => AnswerHead) {
    this.#headOf = headOf;
  }

  get text(): string {
    return this.#text + this.#pieces.join('');
  }

  /** @returns the chunks that may leave now */
  take(chunks: readonly ChatChunk[]): ChatChunk[] {
    const ready: ChatChunk[] = [];
    for (const chunk of chunks) this.#take(chunk, ready);
    return ready;
  }

  /**
   * The last chunk.
   * @param isCut whether the answer was cut short: then its open choices end as if by their length
   * @throws `upstream_error` if a choice has no finish reason
   */
  finish(isCut = false): ChatChunk {
    if (this.#held !== undefined) return this.#held;
    const last = isCut ? this.#choices.end(() => 'length') : undefined;
    if (this.#head) last?.setHead(this.#head);
    if (last !== undefined) return last;
    throw new ParleyError('upstream_error', { cause: new Error('the answer has no finish reason') });
  }

  #take(chunk: ChatChunk, ready: ChatChunk[]): void {
    this.#head ??= this.#headOf();
    chunk.setHead(this.#head);
    this.usage = chunk.takeUsage() ?? this.usage;
    const { text, hasOutput, isOpaque } = chunk.output;
    // Some models send their usage with an empty choice that has already ended.
    if (!hasOutput && this.#choices.haveEnded(chunk)) {
      this.#takeAside(chunk, ready);
      return;
    }
    this.hasOutput ||= hasOutput;
    this.isOpaque ||= isOpaque;
    if (text !== '') this.#add(text);
    this.#choices.note(chunk);
    if (this.#held !== undefined) ready.push(this.#held);
    this.#held = this.#choices.areFinished ? chunk : undefined;
    if (this.#held === undefined) ready.push(chunk);
  }

  /** Joins the pieces now and then, as each may keep all bytes alive that it arrived with. */
  #add(text: string): void {
    this.#pieces.push(text);
    if (this.#pieces.length < piecesMax) return;
    this.#text += this.#pieces.join('');
    this.#pieces = [];
  }

  /** Keeps the other members of a chunk without choices, such as timings or the results of a content filter. */
  #takeAside(chunk: ChatChunk, ready: ChatChunk[]): void {
    const { other } = chunk;
    if (other === undefined) return;
    if (this.#held === undefined) ready.push(chunk);
    else this.#held.addOther(withoutNulls(other));
  }
}

/** Drops nulls, which must not replace an earlier value. */
function withoutNulls(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

/** The last chunk with the usage, or followed by a chunk with the usage if the client asked for that. */
export function withUsage(last: ChatChunk, usage: Usage, apart: boolean): ChatChunk[] {
  if (!apart) {
    last.setUsage(usage);
    return [last];
  }
  const { id, object, created, model } = last.message;
  return [last, messageChunk(create(ChatCompletionChunkSchema, { id, object, created, model, usage }))];
}
