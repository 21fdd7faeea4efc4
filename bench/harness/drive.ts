/** Closed-loop clients in this process: each sends its next request when the last one is answered. And turns of contenders. */
import { quantile } from './statistics.ts';
import { allOf, mapTimes, type ThreadTimes, threadTimesOf } from './threads.ts';

export interface Load {
  /** Number of clients, each with one request at a time. */
  readonly atOnce: number;
  /** Clients begin no request after this time. Each begins at least one. */
  readonly forMs: number;
}

export interface Slice {
  readonly calls: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** User and system time of all threads. */
  readonly cpuUsPerCall: number;
  readonly threadUsPerCall: ThreadTimes;
}

/** The times of answered requests, and the time that all of them took. */
export interface Times {
  readonly timesMs: readonly number[];
  readonly seconds: number;
}

/** @param pid of the process that serves the requests which `work` sends */
export async function sliceOf({ pid }: { readonly pid: number }, work: () => Promise<Times>): Promise<Slice> {
  const before = threadTimesOf(pid);
  const { timesMs, seconds } = await work();
  const after = threadTimesOf(pid);
  const calls = timesMs.length;
  const threadUsPerCall = mapTimes((kind) => ((after[kind] - before[kind]) * 1000) / calls);
  return {
    calls,
    perSecond: calls / seconds,
    p50Ms: quantile(timesMs, 0.5),
    p99Ms: quantile(timesMs, 0.99),
    cpuUsPerCall: allOf(threadUsPerCall),
    threadUsPerCall,
  };
}

/** @param call receives the number of the request, counted over all clients */
type Call = (n: number) => Promise<unknown>;

/** @param server the process that serves the calls */
export function drive(server: { readonly pid: number }, call: Call, load: Load): Promise<Slice> {
  return sliceOf(server, () => run(call, load.atOnce, (_, passedMs) => passedMs < load.forMs));
}

/** Sends a number of calls. */
export const send = (call: Call, { atOnce, calls }: { readonly atOnce: number; readonly calls: number }) =>
  run(call, atOnce, (sent) => sent < calls);

/** @param goesOn whether a client sends another call, once it has sent one */
async function run(
  call: Call,
  atOnce: number,
  goesOn: (sent: number, passedMs: number) => boolean,
): Promise<Times> {
  const timesMs: number[] = [];
  const startedAt = performance.now();
  let sent = 0;
  const client = async () => {
    do {
      const sentAt = performance.now();
      await call(sent++);
      timesMs.push(performance.now() - sentAt);
    } while (goesOn(sent, performance.now() - startedAt));
  };
  await Promise.all(Array.from({ length: atOnce }, client));
  return { timesMs, seconds: (performance.now() - startedAt) / 1000 };
}

export interface Turns {
  readonly rounds: number;
  /** Rounds before the first that counts. Default: 0. */
  readonly warmUps?: number;
}

/**
 * Runs each contender once a round, so that a slow moment of the machine affects all of them. The order alternates (A B, B A), so
 * that none always follows the same one.
 *
 * @returns one sample a round for each contender
 */
export async function takeTurns<Samples extends object>(
  contenders: { readonly [Name in keyof Samples]: () => Promise<Samples[Name]> },
  { rounds, warmUps = 0 }: Turns,
): Promise<{ [Name in keyof Samples]: Samples[Name][] }> {
  const samples = {} as { [Name in keyof Samples]: Samples[Name][] };
  const names = Object.keys(contenders) as (keyof Samples)[];
  for (const name of names) samples[name] = [];
  for (let round = -warmUps; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const sample = await contenders[name]();
      if (round >= 0) samples[name].push(sample);
    }
  }
  return samples;
}
