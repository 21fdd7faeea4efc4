import { create } from '@bufbuild/protobuf';
import { ChatCompletionChunkSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { type ChatChunk, type ChoiceState, messageChunk } from './chat-answer.ts';

/** Follows the choices of a stream. Each begins with a chunk, and ends with its finish reason. */
export class StreamChoices {
  /** Choices that have begun, by index, and whether each has its finish reason. */
  readonly #finished = new Map<number, boolean>();
  /** Whether there are choices, and all have their finish reason. */
  areFinished = false;
  #latest: ChatChunk | undefined;
  /** Those of the latest chunk. Chunks may share them. */
  #choices: readonly ChoiceState[] | undefined;

  /** Whether the choices of the chunk have ended before it. */
  haveEnded({ choices }: ChatChunk): boolean {
    return choices.every(({ index }) => this.#finished.get(index));
  }

  note(chunk: ChatChunk): void {
    this.#latest = chunk;
    const { choices } = chunk;
    if (choices === this.#choices) return;
    this.#choices = choices;
    let hasChanged = false;
    for (const { index, finishReason } of choices) {
      const before = this.#finished.get(index);
      if (before === true || (before === false && !finishReason)) continue;
      this.#finished.set(index, Boolean(finishReason));
      hasChanged = true;
    }
    if (hasChanged) this.areFinished = [...this.#finished.values()].every((isFinished) => isFinished);
  }

  /** The chunk that ends the open choices, with the id and the time of the latest one; undefined if none is open. */
  end(reasonOf: (index: number) => string): ChatChunk | undefined {
    const open = [...this.#finished].filter(([, isFinished]) => !isFinished);
    if (this.#latest === undefined || open.length === 0) return undefined;
    const { id, created } = this.#latest.message;
    const choices = open.map(([index]) => ({ index, delta: {}, finishReason: reasonOf(index) }));
    return messageChunk(create(ChatCompletionChunkSchema, { id, created, choices }));
  }
}
