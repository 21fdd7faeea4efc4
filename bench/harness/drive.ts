/** Closed-loop clients: each sends its next request when the last one is answered. */
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

/** @param call receives the number of the request, counted over all clients */
type Call = (n: number) => Promise<unknown>;

/** @param pid of the process that serves the calls */
export async function drive({ pid }: { readonly pid: number }, call: Call, load: Load): Promise<Slice> {
  const times: number[] = [];
  const [before, startedAt] = [threadTimesOf(pid), performance.now()];
  let sent = 0;
  const client = async () => {
    do {
      const sentAt = performance.now();
      await call(sent++);
      times.push(performance.now() - sentAt);
    } while (performance.now() - startedAt < load.forMs);
  };
  await Promise.all(Array.from({ length: load.atOnce }, client));
  const seconds = (performance.now() - startedAt) / 1000;
  const after = threadTimesOf(pid);
  const threadUsPerCall = mapTimes((kind) => ((after[kind] - before[kind]) * 1000) / times.length);
  return {
    calls: times.length,
    perSecond: times.length / seconds,
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
    cpuUsPerCall: allOf(threadUsPerCall),
    threadUsPerCall,
  };
}

/** Sends a number of calls that nobody measures. */
export async function send(
  call: Call,
  { atOnce, calls }: { readonly atOnce: number; readonly calls: number },
): Promise<void> {
  let sent = 0;
  const client = async () => {
    while (sent < calls) await call(sent++);
  };
  await Promise.all(Array.from({ length: atOnce }, client));
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
