/**
 * Gives the memory of a busy time back to the machine. V8 collects while it allocates, so after the last of a thousand
 * streams their garbage would stay until the next thousand come.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { RequestObserver } from '../core/ports/observer.ts';

/** Without a request for so long, the busy time is over: a collection holds all else up for some 100 ms. */
const quietMsDefault = 3_000;
/** Growth of the heap since it was last collected that is worth it. */
const grownBytesMin = 32 * 1024 * 1024;

export class IdleMemory {
  /** Tells of the requests, so that none has to wait for a collection. */
  readonly observer: Pick<RequestObserver, 'began' | 'ended'>;
  readonly #quietMs: number;
  #running = 0;
  #lastEndedAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #collectedBytes = heapBytes();

  constructor(quietMs = quietMsDefault) {
    this.#quietMs = quietMs;
    this.observer = {
      began: () => {
        this.#running++;
      },
      ended: () => {
        this.#running--;
        this.#lastEndedAtMs = performance.now();
        this.#timer ??= this.#lookIn(this.#quietMs);
      },
    };
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #lookIn(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#look(), ms).unref();
  }

  /** Ends the looking where requests run: the end of the last begins it again. */
  #look(): void {
    this.#timer = undefined;
    if (this.#running > 0) return;
    const quietMs = performance.now() - this.#lastEndedAtMs;
    if (quietMs < this.#quietMs) this.#timer = this.#lookIn(this.#quietMs - quietMs);
    else if (heapBytes() - this.#collectedBytes > grownBytesMin) this.#collect();
  }

  #collect(): void {
    collectGarbage();
    this.#collectedBytes = heapBytes();
  }
}

/** Of its kinds of collection only the last resort gives memory back to the system. A context of its own has it without a flag. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  // For other code of the process all is as it was.
  setFlagsFromString('--no-expose-gc');
  if (typeof collect !== 'function') throw new Error('V8 has no garbage collection to be called');
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/** What V8 has taken from the system for the heap of this thread. */
function heapBytes(): number {
  return getHeapStatistics().total_heap_size;
}
