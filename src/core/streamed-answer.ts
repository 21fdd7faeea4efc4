import { create } from '@bufbuild/protobuf';
import {
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  type Usage,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import { chunkText } from './chat-text.ts';
import { ParleyError } from './errors.ts';

/**
 * An answer as its chunks come in. Chunks leave as they arrive, but for the last, with which every choice has its finish
 * reason: it waits until the answer's usage is known and settled.
 */
export class StreamedAnswer {
  #pieces: string[] = [];
  #held: ChatCompletionChunk | undefined;
  /** Of each choice that has begun, whether it has its finish reason. */
  readonly #finished = new Map<number, boolean>();
  usage: Usage | undefined;

  get text(): string {
    return this.#pieces.join('');
  }

  /** @returns the chunks that may leave now */
  take(chunk: ChatCompletionChunk): ChatCompletionChunk[] {
    if (chunk.usage !== undefined) {
      this.usage = chunk.usage;
      delete chunk.usage;
    }
    const text = chunkText(chunk);
    // Some models send their usage with an empty choice that has ended before.
    if (text === '' && chunk.choices.every(({ index }) => this.#finished.get(index))) {
      // Such a chunk may tell more, such as how long the model took, or first of all what was filtered of the prompt.
      if (chunk.other === undefined) return [];
      if (this.#held === undefined) return [chunk];
      this.#held.other = { ...this.#held.other, ...chunk.other };
      return [];
    }
    if (text !== '') this.#pieces.push(text);
    for (const { index, finishReason } of chunk.choices) {
      this.#finished.set(index, this.#finished.get(index) === true || Boolean(finishReason));
    }
    const held = this.#held ? [this.#held] : [];
    this.#held = this.#isFinished() ? chunk : undefined;
    return this.#held === undefined ? [...held, chunk] : held;
  }

  /** The last chunk. @throws `upstream_error` where a choice never got its finish reason: a truncation, not a success. */
  finish(): ChatCompletionChunk {
    if (this.#held !== undefined) return this.#held;
    throw new ParleyError('upstream_error', { cause: new Error('the answer has no finish reason') });
  }

  #isFinished(): boolean {
    for (const isFinished of this.#finished.values()) if (!isFinished) return false;
    return true;
  }
}

/** The last chunk with the usage on it, or followed by a chunk of its own, as the client asked. */
export function withUsage(last: ChatCompletionChunk, usage: Usage, apart: boolean): ChatCompletionChunk[] {
  if (!apart) return [{ ...last, usage }];
  const { id, object, created, model } = last;
  return [last, create(ChatCompletionChunkSchema, { id, object, created, model, usage })];
}
