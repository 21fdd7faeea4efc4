/**
 * The recognisers of the engine, shared by its requests in turn: a free one takes the next utterance of the request that
 * was served longest ago, and one that was never served comes before all others.
 */
import { ParleyError } from '../../../core/errors.ts';
import type { RecognisedWord } from './hypothesis.ts';
import type { Recogniser } from './recogniser.ts';

/** A recogniser without work is ended after this; starting one takes a third of a second. */
const idleMsMax = 30_000;

/** One request's access to the pool. */
export interface Lane {
  /**
   * The words of 16 kHz mono `samples`, once it is this request's turn. Rejects with `upstream_error` when the recogniser
   * fails, and with the signal's reason once the lane's signal has aborted, which also ends a recogniser at work on it.
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
  /** A number that grows with every utterance taken from any lane; 0 for a lane never served. */
  servedAt: number;
}

interface Slot {
  recogniser: Recogniser | undefined;
  isBusy: boolean;
  /** Settles when the slot has done the last job it was given; never rejects. */
  work: Promise<void>;
  idleTimer: NodeJS.Timeout | undefined;
}

/** A pool of up to `size` recognisers, each started by `start` when it is first needed. */
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

/** Rather one whose recogniser runs already. */
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

/** Never rejects: what goes wrong is told to the job. */
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
