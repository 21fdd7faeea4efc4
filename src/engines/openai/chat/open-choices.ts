import { chunkCodec } from '../../../codec/chat-answer.ts';
import type { ChatChunk, ChoiceState } from '../../../core/entities/chat-answer.ts';

/** The choices of a stream that have no finish reason yet. Some servers send none, and end with `[DONE]`. */
export class OpenChoices {
  readonly #open = new Set<number>();
  readonly #finished = new Set<number>();
  #latest: ChatChunk | undefined;
  /** Those of the latest chunk. Chunks may share them. */
  #choices: readonly ChoiceState[] | undefined;

  note(chunk: ChatChunk): void {
    this.#latest = chunk;
    const { choices } = chunk;
    if (choices === this.#choices) return;
    this.#choices = choices;
    for (const { index, finishReason } of choices) {
      if (finishReason) this.#finished.add(index);
      if (this.#finished.has(index)) this.#open.delete(index);
      else this.#open.add(index);
    }
  }

  /**
   * The chunk that ends the choices which are open at `[DONE]`; undefined if there are none.
   * @param hasCalls whether a choice has called tools
   */
  end(hasCalls: (index: number) => boolean): ChatChunk | undefined {
    if (this.#latest === undefined || this.#open.size === 0) return undefined;
    const { id, created } = this.#latest.message;
    const choices = [...this.#open].map((index) => ({
      index,
      delta: {},
      finish_reason: hasCalls(index) ? 'tool_calls' : 'stop',
    }));
    return chunkCodec.decode({ id, created: Number(created), choices });
  }
}
