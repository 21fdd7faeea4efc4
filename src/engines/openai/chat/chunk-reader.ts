import { ChunkLayout } from '../../../codec/spliced-chunk.ts';
import type { ChatChunk } from '../../../core/entities/chat-answer.ts';
import { StreamChoices } from '../../../core/entities/stream-choices.ts';
import { CallNumbers } from './call-numbers.ts';
import { MessageChunks } from './choice-forms.ts';
import { type Report, readChunk } from './json.ts';

/** Enough for a stream with several choices, each with text and reasoning. */
const layoutsMax = 8;
/** Maximum number of learned layouts without use, as learning costs as much as parsing a few chunks. */
const attemptsMax = 8;
/** A layout is worth learning if it serves this many chunks. */
const chunksWorth = 4;

/** Reads the chunks of one stream. Parses those with a new layout, and only compares the others with a known one. */
export class ChunkReader {
  readonly #report: Report;
  /** Layouts, the newest first. */
  readonly #layouts: ChunkLayout[] = [];
  readonly #numbers = new CallNumbers();
  readonly #messages = new MessageChunks();
  readonly #choices = new StreamChoices();
  #attempts = attemptsMax;

  constructor(report: Report) {
    this.#report = report;
  }

  /** @throws `upstream_error` if the chunk is an error or malformed */
  read(data: string): ChatChunk {
    const chunk = this.#read(data);
    this.#choices.note(chunk);
    return chunk;
  }

  /** The chunk that a whole stream lacks. Some servers send no finish reason, and end with `[DONE]`. */
  end(): ChatChunk | undefined {
    return this.#choices.end((choice) => (this.#numbers.has(choice) ? 'tool_calls' : 'stop'));
  }

  /** Whether a chunk is known by those before it, not by its layout. */
  get #isIrregular(): boolean {
    return this.#numbers.areNeeded || this.#messages.areThere;
  }

  #read(data: string): ChatChunk {
    const layouts = this.#isIrregular ? [] : this.#layouts;
    for (const layout of layouts) {
      const chunk = layout.read(data);
      if (chunk === undefined) continue;
      this.#attempts = Math.min(attemptsMax, this.#attempts + 1 / chunksWorth);
      return chunk;
    }
    const chunk = readChunk(data, this.#report, this.#numbers, this.#messages);
    if (!this.#isIrregular && this.#attempts >= 1 && chunk.output.text !== '') this.#learn(data);
    return chunk;
  }

  #learn(data: string): void {
    this.#attempts--;
    const layout = ChunkLayout.of(data);
    if (layout === undefined) return;
    this.#layouts.unshift(layout);
    if (this.#layouts.length > layoutsMax) this.#layouts.pop();
  }
}
