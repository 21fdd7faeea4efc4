import { create } from '@bufbuild/protobuf';
import {
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  type Usage,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import { chunkText } from './chat-text.ts';
import { ParleyError } from './errors.ts';

/**
 * An answer as its chunks come in. Chunks leave as they arrive, but for the last with a finish reason: it waits until
 * the answer's usage is known and settled.
 */
export class StreamedAnswer {
  #pieces: string[] = [];
  #held: ChatCompletionChunk | undefined;
  readonly #unfinished = new Set<number>();
  usage: Usage | undefined;

  get text(): string {
    return this.#pieces.join('');
  }

  *take(chunk: ChatCompletionChunk): Generator<ChatCompletionChunk> {
    this.usage = chunk.usage ?? this.usage;
    delete chunk.usage;
    if (chunk.choices.length === 0) return;
    const text = chunkText(chunk);
    if (text !== '') this.#pieces.push(text);
    for (const { index } of chunk.choices) this.#unfinished.add(index);
    const finished = chunk.choices.filter(({ finishReason }) => finishReason !== undefined);
    for (const { index } of finished) this.#unfinished.delete(index);
    if (this.#held) yield this.#held;
    this.#held = finished.length > 0 ? chunk : undefined;
    if (this.#held === undefined) yield chunk;
  }

  /** The last chunk. @throws `upstream_error` where a choice never got its finish reason: a truncation, not a success. */
  finish(): ChatCompletionChunk {
    if (this.#held === undefined || this.#unfinished.size > 0) throw new ParleyError('upstream_error');
    return this.#held;
  }
}

/** The last chunk with the usage on it, or followed by a chunk of its own, as the client asked. */
export function withUsage(last: ChatCompletionChunk, usage: Usage, apart: boolean): ChatCompletionChunk[] {
  if (!apart) return [{ ...last, usage }];
  const { id, object, created, model } = last;
  return [last, create(ChatCompletionChunkSchema, { id, object, created, model, usage })];
}
