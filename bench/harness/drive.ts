/** Clients that send one request after another for a while, and what that has cost the server. */
import { quantile } from './statistics.ts';

export type Call = () => Promise<unknown>;

/** Whoever can tell the CPU that it has used so far, all threads, in ms. */
export interface Metered {
  cpuMs(): Promise<number>;
}

export interface Load {
  /** Clients, each with one request at a time. */
  readonly atOnce: number;
  /** No request is begun after so long; each client begins one at least. */
  readonly forMs: number;
}

export interface Slice {
  readonly calls: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuUsPerCall: number;
}

/** @param call is given the number of the request, counted over all clients */
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
    calls: times.length,
    perSecond: times.length / seconds,
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
    cpuUsPerCall: ((await server.cpuMs()) - cpuMs) * (1000 / times.length),
  };
}
