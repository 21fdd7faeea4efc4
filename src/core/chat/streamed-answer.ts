import { create, type JsonObject } from '@bufbuild/protobuf';
import { ChatCompletionChunkSchema, type Usage } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { ParleyError } from '../errors.ts';
import { type ChatChunk, messageChunk } from './answer.ts';

/**
 * An answer as its chunks come in. Chunks leave as they arrive, but for the last, with which every choice has its finish
 * reason: it waits until the answer's usage is known and settled.
 */
export class StreamedAnswer {
  /** What clients call the model. */
  readonly #model: string;
  #pieces: string[] = [];
  #held: ChatChunk | undefined;
  /** Of each choice that has begun, whether it has its finish reason. */
  readonly #finished = new Map<number, boolean>();
  usage: Usage | undefined;

  constructor(model: string) {
    this.#model = model;
  }

  get text(): string {
    return this.#pieces.join('');
  }

  /** @returns the chunks that may leave now */
  take(chunks: readonly ChatChunk[]): ChatChunk[] {
    const ready: ChatChunk[] = [];
    for (const chunk of chunks) this.#take(chunk, ready);
    return ready;
  }

  /** The last chunk. @throws `upstream_error` where a choice never got its finish reason: a truncation, not a success. */
  finish(): ChatChunk {
    if (this.#held !== undefined) return this.#held;
    throw new ParleyError('upstream_error', { cause: new Error('the answer has no finish reason') });
  }

  #take(chunk: ChatChunk, ready: ChatChunk[]): void {
    chunk.setModel(this.#model);
    this.usage = chunk.takeUsage() ?? this.usage;
    const { text, choices } = chunk;
    // Some models send their usage with an empty choice that has ended before.
    if (text === '' && choices.every(({ index }) => this.#finished.get(index))) {
      this.#takeAside(chunk, ready);
      return;
    }
    if (text !== '') this.#pieces.push(text);
    for (const { index, finishReason } of choices) {
      this.#finished.set(index, this.#finished.get(index) === true || Boolean(finishReason));
    }
    if (this.#held !== undefined) ready.push(this.#held);
    this.#held = this.#isFinished() ? chunk : undefined;
    if (this.#held === undefined) ready.push(chunk);
  }

  /** A chunk that adds nothing to a choice may tell more, such as how long the model took, or first of all what was filtered. */
  #takeAside(chunk: ChatChunk, ready: ChatChunk[]): void {
    const { other } = chunk;
    if (other === undefined) return;
    if (this.#held === undefined) ready.push(chunk);
    else this.#held.addOther(withoutNulls(other));
  }

  #isFinished(): boolean {
    for (const isFinished of this.#finished.values()) if (!isFinished) return false;
    return true;
  }
}

/** A `null` tells nothing, and must not stand in the place of what was told before. */
function withoutNulls(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

/** The last chunk with the usage on it, or followed by a chunk of its own, as the client asked. */
export function withUsage(last: ChatChunk, usage: Usage, apart: boolean): ChatChunk[] {
  if (!apart) {
    last.setUsage(usage);
    return [last];
  }
  const { id, object, created, model } = last.message;
  return [last, messageChunk(create(ChatCompletionChunkSchema, { id, object, created, model, usage }))];
}
