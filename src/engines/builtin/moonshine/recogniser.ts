/** The threads of Moonshine, for files and for live speech: each takes up to 250 MB while it has work. */
import {
  joinSamples,
  type LiveSpeaker,
  type LiveText,
  type LiveTurnOptions,
  liveSampleRate,
  type Samples,
} from '../../../core/entities/live.ts';
import { ParleyError } from '../../../core/values/errors.ts';
import { createThreadPool, siblingWorker, type TaskGroup, type ThreadPool } from '../../../threads/pool.ts';
import { KeptTurn } from '../../kept-speech.ts';
import type { RecognisedWord } from '../../recordings/transcript.ts';
import type { Recogniser } from '../recogniser.ts';
import type { MoonshineTask } from './moonshine-worker.ts';

/** An idle thread ends after this time and frees its memory. */
const idleMs = 20_000;
/** Recognition of the longest turn takes 30 s. With more CPU time it counts as hung. */
const cpuMsMax = 200_000;

/** The memory of a thread, and its share of what the process may use. */
const threadBytes = 250 * 1024 ** 2;
const memoryShare = 1 / 4;

/** @param threadsMax fewer run where memory is short */
export function createMoonshine(threadsMax: number): Recogniser {
  const threadsInMemory = Math.floor((process.availableMemory() * memoryShare) / threadBytes);
  const threads = Math.max(1, Math.min(threadsMax, threadsInMemory));
  const pool = createThreadPool<MoonshineTask, readonly RecognisedWord[]>({
    entry: siblingWorker(import.meta.url, 'moonshine-worker'),
    threads,
    taskCpuMsMax: cpuMsMax,
    idleMs,
    abortEndsThread: true,
  });
  return {
    async openFile(signal) {
      const group = pool.enter(signal);
      return ({ samples }) => group.run({ samples }, [samples.buffer]);
    },
    openSpeaker: turnOpener(pool, threads * turnsPerThread),
    close: () => pool.close(),
  };
}

type Words = readonly RecognisedWord[];

/** Further speech after which the open turn is recognised again. */
const partialSamples = 0.75 * liveSampleRate;
/** Partial texts of a turn pause this many times as long as the last took: it uses a third of a core at most. */
const pauseFactor = 2;
/** A longer turn gets no more partial texts. */
const partialSamplesMax = 20 * liveSampleRate;
/** Open turns for each thread. */
const turnsPerThread = 6;
const retryAfterSeconds = 5;

/** @param turnsMax turns of all sessions that may be open */
function turnOpener(pool: ThreadPool<MoonshineTask, Words>, turnsMax: number): () => LiveSpeaker {
  let open = 0;
  return () => {
    const own = new Set<MoonshineTurn>();
    return {
      listen: (options) => {
        if (open >= turnsMax) throw new ParleyError('overloaded', { retryAfterSeconds, hasNotRun: true });
        const turn: MoonshineTurn = new MoonshineTurn(pool, options, () => {
          open--;
          own.delete(turn);
        });
        open++;
        own.add(turn);
        return turn;
      },
      close: () => {
        for (const turn of own) turn.drop();
      },
    };
  };
}

/** Is recognised while it is open, too, for partial texts. */
class MoonshineTurn extends KeptTurn {
  readonly #pool: ThreadPool<MoonshineTask, Words>;
  readonly #onEnd: () => void;
  #samples = 0;
  /** Samples of the last partial text. */
  #shownSamples = 0;
  #shown = '';
  #partial: TaskGroup<MoonshineTask, Words> | undefined;
  #isPausing = false;
  #isLast = false;

  constructor(pool: ThreadPool<MoonshineTask, Words>, options: LiveTurnOptions, onEnd: () => void) {
    super(options);
    this.#pool = pool;
    this.#onEnd = onEnd;
  }

  override add(samples: Samples): void {
    super.add(samples);
    if (this.isOver) return;
    this.#samples += samples.length;
    this.#show();
  }

  override finish(): Promise<LiveText> {
    this.#isLast = true;
    this.#partial?.leave();
    return super.finish();
  }

  protected async recognise(): Promise<LiveText> {
    const words = await this.#wordsBy(this.#pool.enter(this.stop, { isOwed: true }));
    return { text: textOf(words), words };
  }

  protected override end(): void {
    if (this.isOver) return;
    super.end();
    this.#partial?.leave();
    this.#onEnd();
  }

  async #wordsBy(group: TaskGroup<MoonshineTask, Words>): Promise<Words> {
    const samples = joinSamples(this.parts);
    try {
      return samples.length === 0 ? [] : await group.run({ samples }, [samples.buffer]);
    } finally {
      group.leave();
    }
  }

  /** Recognises the open turn, unless others wait for a thread. */
  #show(): void {
    const isDue = this.#samples - this.#shownSamples >= partialSamples && this.#samples <= partialSamplesMax;
    if (!isDue || this.#partial !== undefined || this.#isPausing || this.#pool.waiting > 0) return;
    this.#shownSamples = this.#samples;
    this.#partial = this.#pool.enter(undefined, { owner: this.stop.owner, isOwed: true });
    const startedMs = performance.now();
    this.#wordsBy(this.#partial)
      .then((words) => this.#report(textOf(words)))
      // The end of the turn tries again, and reports a failure.
      .catch(() => undefined)
      .finally(() => this.#pause(pauseFactor * (performance.now() - startedMs)));
  }

  #pause(ms: number): void {
    this.#partial = undefined;
    this.#isPausing = true;
    setTimeout(() => {
      this.#isPausing = false;
    }, ms).unref();
  }

  #report(text: string): void {
    if (this.#isLast || this.isOver || text === '' || text === this.#shown) return;
    this.#shown = text;
    this.options.onPartial(text);
  }
}

function textOf(words: Words): string {
  return words.map(({ word }) => word).join(' ');
}
