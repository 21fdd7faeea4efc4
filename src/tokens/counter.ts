import { Worker } from 'node:worker_threads';
import { ParleyError } from '../core/errors.ts';
import type { TokenCounter } from '../core/ports/engines.ts';
import { siblingWorker } from '../threads/sibling.ts';
import { endOfPiece } from './pieces.ts';

/** UTF-16 code units of one text that go into a message, so that a huge text takes turns with others. */
const sliceUnitsMax = 4096;

/** UTF-16 code units in a message: 4 ms of work for natural text, about 50 ms for the slowest. */
const batchUnitsMax = 16_384;

/** A text that is being counted. */
interface Count {
  readonly text: string;
  /** Code units that were sent so far. */
  sentUnits: number;
  /** Tokens of what came back so far. */
  tokens: number;
  readonly resolve: (tokens: number) => void;
  readonly reject: (error: ParleyError) => void;
}

interface Slice {
  readonly count: Count;
  readonly text: string;
}

/**
 * Counts o200k tokens in one worker thread, which starts with the first count (the vocabulary takes a third of a second
 * and some 80 MB) and keeps the process alive only while it works.
 *
 * A text of up to 512 UTF-16 code units is counted exactly as the tokenizer does, and so is a longer one that has a
 * place to cut in every 512 units, as texts in any language and code do: after a word, a number or before a blank. A
 * longer run without such a place is cut every 512 units, which may change the count by a token or two a cut, more often
 * up than down. Time grows with the length alone. Special tokens such as `<|endoftext|>` count as the text they are,
 * a lone surrogate as U+FFFD.
 *
 * Texts take turns, and are sent in slices as the thread gets to them: a huge one delays a short one by one message.
 * `count` rejects with `internal_error` where the thread dies at work on the text, or the counter is closed.
 */
export function createTokenCounter(): TokenCounter {
  return new ThreadTokenCounter();
}

class ThreadTokenCounter implements TokenCounter {
  #worker: Worker | undefined;
  /** Counts of which something is still to be sent, in the order of their turns. */
  readonly #waiting = new Set<Count>();
  /** What the worker is at: one message at a time. */
  #sent: readonly Slice[] = [];
  #closed = false;

  count(text: string): Promise<number> {
    if (this.#closed) return Promise.reject(failure(new Error('the token counter is closed')));
    if (text === '') return Promise.resolve(0);
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#waiting.add({ text, sentUnits: 0, tokens: 0, resolve, reject });
    if (this.#sent.length === 0) this.#send();
    return promise;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const worker = this.#worker;
    this.#worker = undefined;
    const left = [...this.#sent.map((slice) => slice.count), ...this.#waiting];
    this.#sent = [];
    this.#waiting.clear();
    for (const count of left) count.reject(failure(new Error('the token counter was closed')));
    await worker?.terminate();
  }

  #send(): void {
    this.#sent = this.#takeSlices();
    if (this.#sent.length === 0) {
      this.#worker?.unref();
      return;
    }
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#worker.postMessage(this.#sent.map((slice) => slice.text));
  }

  /** Fills a message from the texts in turn; what is not sent whole goes to the back of the line. */
  #takeSlices(): Slice[] {
    const slices: Slice[] = [];
    let units = 0;
    for (const count of this.#waiting) {
      if (units >= batchUnitsMax) break;
      this.#waiting.delete(count);
      const end = endOfPiece(count.text, count.sentUnits, sliceUnitsMax);
      slices.push({ count, text: count.text.slice(count.sentUnits, end) });
      units += end - count.sentUnits;
      count.sentUnits = end;
      // The loop comes to it again, as a set's iteration sees what is added on the way.
      if (end < count.text.length) this.#waiting.add(count);
    }
    return slices;
  }

  #start(): Worker {
    const worker = new Worker(siblingWorker(import.meta.url, 'counter-worker'));
    worker.on('message', (tokens: readonly number[]) => this.#received(worker, tokens));
    worker.on('error', (error) => this.#lost(worker, error));
    worker.on('exit', (code) =>
      this.#lost(worker, new Error(`the token counter's thread ended with ${code}`)),
    );
    return worker;
  }

  #received(worker: Worker, tokens: readonly number[]): void {
    if (worker !== this.#worker) return;
    const slices = this.#sent;
    for (const [index, { count }] of slices.entries()) count.tokens += tokens[index] ?? 0;
    for (const { count } of slices) {
      if (count.sentUnits === count.text.length) count.resolve(count.tokens);
    }
    this.#send();
  }

  /** Only the texts that the thread was at are lost; those that wait are counted by a new one. */
  #lost(worker: Worker, cause: unknown): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    for (const { count } of this.#sent) {
      this.#waiting.delete(count);
      count.reject(failure(cause));
    }
    this.#send();
  }
}

function failure(cause: unknown): ParleyError {
  return new ParleyError('internal_error', { cause });
}
