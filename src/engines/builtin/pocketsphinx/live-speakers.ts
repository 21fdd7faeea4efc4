/** Speakers: each leases a recogniser's thread for a turn, and keeps the thread's knowledge of the voice. */
import {
  joinSamples,
  type LiveSpeaker,
  type LiveText,
  type LiveTurn,
  type LiveTurnOptions,
  liveSampleRate,
} from '../../../core/entities/live.ts';
import { ParleyError } from '../../../core/values/errors.ts';
import { hearingModule } from '../../../media/hearing-modules.ts';
import { createThreadPool, type Session, siblingWorker, type ThreadPool } from '../../../threads/pool.ts';
import type { LiveResult, LiveTask } from './live-worker.ts';

/** Amount of further speech after which a hypothesis is requested. */
const partialSamples = 0.25 * liveSampleRate;
/** Speech that waits longer than this gets no more partial texts. */
const behindSamples = 2 * liveSampleRate;
/** Amount of speech that suffices to know the voice. */
const voiceSamples = 2 * liveSampleRate;
/** Maximum number of turns that wait for a recogniser. Their speech is kept: a minute takes 2 MB. */
const waitingMax = 8;
const idleMs = 30_000;
/** A minute of speech takes about 15 s. A task has at most a minute. */
const taskCpuMsMax = 120_000;
const retryAfterSeconds = 5;

type TurnSession = Session<LiveTask, LiveResult>;

export interface LiveSpeakers {
  openSpeaker(): LiveSpeaker;
  close(): Promise<void>;
}

/** Speed of a recogniser, as a multiple of the speed of speech. */
const speakersPerCore = 4;

/** @param cores that may be busy with recognition */
export function createLiveSpeakers(cores: number): LiveSpeakers {
  const threads = cores * speakersPerCore;
  const pool = createThreadPool<LiveTask, LiveResult>({
    entry: siblingWorker(import.meta.url, 'live-worker'),
    threads,
    taskCpuMsMax,
    idleMs,
    abortEndsThread: true,
  });
  const leases = new Leases(pool, threads);
  return { openSpeaker: () => new Speaker(leases), close: () => pool.close() };
}

/** Gives each turn a separate thread. */
class Leases {
  readonly #pool: ThreadPool<LiveTask, LiveResult>;
  readonly #waiting: ((session: TurnSession) => void)[] = [];
  #free: number;

  constructor(pool: ThreadPool<LiveTask, LiveResult>, threads: number) {
    this.#pool = pool;
    this.#free = threads;
  }

  /** Calls back once a thread is free. @throws `overloaded` if too many wait */
  lease(onLease: (session: TurnSession) => void): void {
    if (this.#waiting.length >= waitingMax) {
      throw new ParleyError('overloaded', { retryAfterSeconds, hasNotRun: true });
    }
    this.#waiting.push(onLease);
    this.#grant();
  }

  /** Removes the turn from the queue. */
  cancel(onLease: (session: TurnSession) => void): void {
    const at = this.#waiting.indexOf(onLease);
    if (at >= 0) this.#waiting.splice(at, 1);
  }

  giveBack(session: TurnSession): void {
    session.close();
    this.#free++;
    this.#grant();
  }

  #grant(): void {
    while (this.#free > 0) {
      const onLease = this.#waiting.shift();
      if (onLease === undefined) return;
      this.#free--;
      onLease(this.#pool.openSession());
    }
  }
}

/** Recognises one turn after the other. Each uses what the earlier ones showed of the voice. */
class Speaker implements LiveSpeaker {
  readonly #leases: Leases;
  /** The first turn has a thread or waits for one. */
  readonly #turns: RecognisedTurn[] = [];
  /** Speech of an earlier turn. */
  #voice: Int16Array<ArrayBuffer> | undefined;

  constructor(leases: Leases) {
    this.#leases = leases;
  }

  listen(options: LiveTurnOptions): LiveTurn {
    const turn = new RecognisedTurn(this.#leases, options, (voice) => this.#endOf(turn, voice));
    if (this.#turns.length === 0) turn.begin(this.#voice);
    this.#turns.push(turn);
    return turn;
  }

  close(): void {
    for (const turn of this.#turns.splice(0)) turn.drop();
  }

  #endOf(turn: RecognisedTurn, voice: Int16Array<ArrayBuffer>): void {
    if (voice.length >= voiceSamples) this.#voice = voice;
    const at = this.#turns.indexOf(turn);
    if (at < 0) return;
    this.#turns.splice(at, 1);
    const [next] = this.#turns;
    if (at > 0 || next === undefined) return;
    try {
      next.begin(this.#voice);
    } catch (error) {
      next.fail(error);
    }
  }
}

/** Sends a turn's speech to its thread, one task at a time. Samples that arrive meanwhile go with the next task. */
class RecognisedTurn implements LiveTurn {
  readonly #leases: Leases;
  readonly #options: LiveTurnOptions;
  readonly #onEnd: (voice: Int16Array<ArrayBuffer>) => void;
  readonly #text = Promise.withResolvers<LiveText>();
  /** Speech of the same person before this turn. */
  #voice: Int16Array<ArrayBuffer> | undefined;
  #sample = new Int16Array(0);
  #waiting: Int16Array[] = [];
  #waitingSamples = 0;
  #sinceHypothesis = 0;
  #shown = '';
  #session: TurnSession | undefined;
  #isRunning = false;
  #hasBegun = false;
  #isLast = false;
  #isOver = false;

  /** @param onEnd gets the first speech of the turn after any end */
  constructor(leases: Leases, options: LiveTurnOptions, onEnd: (voice: Int16Array<ArrayBuffer>) => void) {
    this.#leases = leases;
    this.#options = options;
    this.#onEnd = onEnd;
    // `onFailure` reports a failure, which is also thrown where the text is awaited.
    this.#text.promise.catch(() => undefined);
  }

  /** Waits for a thread. @throws `overloaded` if too many turns wait */
  begin(voice: Int16Array<ArrayBuffer> | undefined): void {
    this.#voice = voice;
    this.#leases.lease(this.#onLease);
  }

  add(samples: Int16Array<ArrayBuffer>): void {
    if (this.#isOver) return;
    this.#keepVoice(samples);
    this.#waiting.push(samples);
    this.#waitingSamples += samples.length;
    this.#send();
  }

  finish(): Promise<LiveText> {
    this.#isLast = true;
    this.#send();
    return this.#text.promise;
  }

  drop(): void {
    this.#text.reject(new ParleyError('request_cancelled'));
    this.#end();
  }

  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#text.reject(error);
    this.#end();
    this.#options.onFailure(error);
  }

  readonly #onLease = (session: TurnSession) => {
    this.#session = session;
    this.#send();
  };

  #keepVoice(samples: Int16Array): void {
    const missing = voiceSamples - this.#sample.length;
    if (missing <= 0) return;
    this.#sample = joinSamples([this.#sample, samples.subarray(0, missing)]);
  }

  #send(): void {
    if (this.#session === undefined || this.#isRunning || this.#isOver) return;
    if (this.#waiting.length === 0 && !this.#isLast) return;
    this.#isRunning = true;
    this.#run(this.#session).catch((error: unknown) => this.fail(error));
  }

  async #run(session: TurnSession): Promise<void> {
    const isBehind = this.#waitingSamples > behindSamples;
    const samples = this.#take();
    this.#sinceHypothesis += samples.length;
    const isLast = this.#isLast;
    const isPartialWanted = !isLast && !isBehind && this.#sinceHypothesis >= partialSamples;
    if (isPartialWanted) this.#sinceHypothesis = 0;
    const begin = this.#hasBegun
      ? undefined
      : { module: await hearingModule('recogniser'), voice: this.#voice };
    this.#hasBegun = true;
    const task = { samples, isPartialWanted, isLast };
    const { partial, words } = await session.run(begin ? { ...task, begin } : task, [samples.buffer]);
    this.#isRunning = false;
    if (this.#isOver) return;
    if (words !== undefined) {
      this.#end();
      this.#text.resolve({ text: words.map(({ word }) => word).join(' '), words });
      return;
    }
    if (partial !== undefined && partial !== this.#shown) {
      this.#shown = partial;
      this.#options.onPartial(partial);
    }
    this.#send();
  }

  #take(): Int16Array<ArrayBuffer> {
    const samples = joinSamples(this.#waiting);
    this.#waiting = [];
    this.#waitingSamples = 0;
    return samples;
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#waiting = [];
    this.#leases.cancel(this.#onLease);
    if (this.#session) this.#leases.giveBack(this.#session);
    this.#onEnd(this.#sample);
  }
}
