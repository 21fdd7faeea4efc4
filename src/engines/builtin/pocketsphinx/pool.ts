/**
 * Shares recognisers fairly among requests: a free one takes the next utterance of the request that was served longest ago,
 * first of all one that was never served.
 */
import { ParleyError } from '../../../core/errors.ts';
import type { RecognisedWord } from './hypothesis.ts';
import type { Recogniser } from './recogniser.ts';

/** An idle recogniser ends after this time; starting one takes a third of a second. */
const idleMsMax = 30_000;

/** One request's queue. */
export interface Lane {
  /**
   * The words of 16 kHz mono `samples`. Rejects with `upstream_error` if the recogniser fails, or with the reason of the
   * lane's signal, which also ends a recogniser that works for it.
   */
  recognise(samples: Int16Array): Promise<readonly RecognisedWord[]>;
}

export interface RecogniserPool {
  openLane(signal: AbortSignal): Lane;
  /** Ends all recognisers. Abort the lanes first. */
  close(): Promise<void>;
}

interface Job {
  readonly samples: Int16Array;
  readonly signal: AbortSignal;
  readonly resolve: (words: readonly RecognisedWord[]) => void;
  readonly reject: (error: unknown) => void;
}

interface LaneState {
  readonly waiting: Job[];
  /** The number of the last utterance taken from this lane, counted over all lanes; 0 if there was none. */
  servedAt: number;
}

interface Slot {
  recogniser: Recogniser | undefined;
  isBusy: boolean;
  /** Resolves when the slot's last job is done; never rejects. */
  work: Promise<void>;
  idleTimer: NodeJS.Timeout | undefined;
}

/** A pool of up to `size` recognisers, each started by `start` when first needed. */
export function createRecogniserPool(size: number, start: () => Promise<Recogniser>): RecogniserPool {
  const slots: Slot[] = Array.from({ length: size }, () => ({
    recogniser: undefined,
    isBusy: false,
    work: Promise.resolve(),
    idleTimer: undefined,
  }));
  const lanes = new Set<LaneState>();
  let served = 0;

  const dispatch = (): void => {
    const slot = freeSlot(slots);
    const lane = nextLane(lanes);
    if (slot === undefined || lane === undefined) return;
    const job = lane.waiting.shift();
    if (job === undefined) return;
    served += 1;
    lane.servedAt = served;
    slot.work = runJob(slot, job, start);
    void slot.work.then(dispatch);
    dispatch();
  };
  return {
    openLane(signal) {
      const lane: LaneState = { waiting: [], servedAt: 0 };
      lanes.add(lane);
      const drop = () => {
        lanes.delete(lane);
        for (const job of lane.waiting.splice(0)) job.reject(signal.reason);
      };
      signal.addEventListener('abort', drop, { once: true });
      return {
        recognise: (samples) => {
          if (signal.aborted) return Promise.reject(signal.reason);
          const { promise, resolve, reject } = Promise.withResolvers<readonly RecognisedWord[]>();
          lane.waiting.push({ samples, signal, resolve, reject });
          dispatch();
          return promise;
        },
      };
    },
    async close() {
      await Promise.all(slots.map((slot) => slot.work));
      await Promise.all(slots.map(endRecogniser));
    },
  };
}

/** Prefers a slot whose recogniser already runs. */
function freeSlot(slots: readonly Slot[]): Slot | undefined {
  const free = slots.filter((slot) => !slot.isBusy);
  return free.find((slot) => slot.recogniser?.isAlive) ?? free[0];
}

function nextLane(lanes: ReadonlySet<LaneState>): LaneState | undefined {
  const waiting = [...lanes].filter((lane) => lane.waiting.length > 0);
  return waiting.reduce<LaneState | undefined>(
    (first, lane) => (first === undefined || lane.servedAt < first.servedAt ? lane : first),
    undefined,
  );
}

/** Never rejects: the job gets the error. */
async function runJob(slot: Slot, job: Job, start: () => Promise<Recogniser>): Promise<void> {
  slot.isBusy = true;
  clearTimeout(slot.idleTimer);
  const kill = () => slot.recogniser?.kill();
  job.signal.addEventListener('abort', kill, { once: true });
  try {
    if (slot.recogniser?.isAlive !== true) slot.recogniser = await start();
    job.signal.throwIfAborted();
    job.resolve(await slot.recogniser.recognise(job.samples));
  } catch (error) {
    await endRecogniser(slot);
    job.reject(job.signal.aborted ? job.signal.reason : new ParleyError('upstream_error', { cause: error }));
  } finally {
    job.signal.removeEventListener('abort', kill);
    slot.isBusy = false;
    slot.idleTimer = setTimeout(() => void endRecogniser(slot), idleMsMax).unref();
  }
}

async function endRecogniser(slot: Slot): Promise<void> {
  clearTimeout(slot.idleTimer);
  slot.recogniser?.kill();
  await slot.recogniser?.ended;
}
