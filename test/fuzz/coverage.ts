/** Reports which parts of the sources have run, by V8's own counters. */
import { type Profiler, Session } from 'node:inspector';

const sources = new URL('../../src/', import.meta.url).href;

export class Coverage {
  readonly #session = new Session();
  readonly #seen = new Set<string>();

  constructor() {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** The number of parts known to have run. */
  get size(): number {
    return this.#seen.size;
  }

  /** The parts that have run for the first time since the last call. */
  news(): string[] {
    return this.#take().filter((part) => !this.#seen.has(part));
  }

  learn(parts: readonly string[]): void {
    for (const part of parts) this.#seen.add(part);
  }

  close(): void {
    this.#session.disconnect();
  }

  #take(): string[] {
    const scripts: Profiler.ScriptCoverage[] = [];
    // The answer arrives before `post` returns.
    this.#session.post('Profiler.takePreciseCoverage', (error, answer) => {
      if (error) throw error;
      scripts.push(...answer.result.filter(({ url }) => url.startsWith(sources)));
    });
    return scripts.flatMap(({ scriptId, functions }) =>
      functions.flatMap(({ ranges }) =>
        ranges.flatMap(({ count, startOffset, endOffset }) =>
          count > 0 ? [`${scriptId}:${startOffset}:${endOffset}:${countClass(count)}`] : [],
        ),
      ),
    );
  }
}

/** A loop that runs ten times counts as new after one run of it. Eleven times do not count as new after ten. */
function countClass(count: number): number {
  return Math.min(8, Math.floor(Math.log2(count)));
}
