/** Closed-loop clients: each sends its next request when the last one is answered. */
import { quantile } from './statistics.ts';

export interface Metered {
  /** CPU used so far by all threads, user and system, in ms. */
  cpuMs(): Promise<number>;
}

export interface Load {
  /** Number of clients, each with one request at a time. */
  readonly atOnce: number;
  /** Clients begin no request after this time. Each begins at least one. */
  readonly forMs: number;
}

export interface Slice {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuUsPerCall: number;
}

/** @param call receives the number of the request, counted over all clients */
export async function drive(
  server: Metered,
  call: (n: number) => Promise<unknown>,
  load: Load,
): Promise<Slice> {
  const times: number[] = [];
  const [cpuMs, startedAt] = [await server.cpuMs(), performance.now()];
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
  return {
    perSecond: times.length / seconds,
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
    cpuUsPerCall: ((await server.cpuMs()) - cpuMs) * (1000 / times.length),
  };
}

export interface Turns {
  readonly rounds: number;
  /** Rounds before the first that counts. Default: 0. */
  readonly warmUps?: number;
}

/**
 * Runs each contender once a round, so that a slow moment of the machine affects all of them. The order alternates, so that none
 * always follows the same one.
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
