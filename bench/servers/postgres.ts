/** A PostgreSQL of the bench's own, with its defaults: every commit is synced. */
import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresServer } from '../../test/support/postgres/server.ts';
import { cpuMsByPid } from '../harness/processes.ts';
import { createDatabase, withClient } from '../money/postgres-accounts.ts';

export interface Postgres {
  /** Creates an empty database. @returns its URL */
  create(name: string): Promise<string>;
  /** CPU that its processes used while `work` ran, in ms. Leaves out those that ended meanwhile. */
  cpuMsOf<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly cpuMs: number }>;
  stop(): Promise<void>;
}

const startMsMax = 60_000;

/** @param programs the folder of PostgreSQL's programs */
export async function startPostgres(programs: string): Promise<Postgres> {
  const server = await PostgresServer.create(programs);
  await untilItAnswers(server.url);
  const cpu = () => cpuMsByPid(server.pid ?? Number.NaN);
  return {
    create: (name) => createDatabase(server.url, name),
    async cpuMsOf(work) {
      const before = cpu();
      const result = await work();
      const cpuMs = [...cpu()].reduce((sum, [pid, ms]) => sum + ms - (before.get(pid) ?? 0), 0);
      return { result, cpuMs };
    },
    stop: () => server.remove(),
  };
}

async function untilItAnswers(url: string): Promise<void> {
  const deadline = Date.now() + startMsMax;
  for (;;) {
    try {
      return await withClient(url, async () => undefined);
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(50);
    }
  }
}
