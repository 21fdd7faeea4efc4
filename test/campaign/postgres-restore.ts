/**
 * Dumps of a database whose nodes are at work. A node starts from a restored dump: its books are exact, and it has
 * every request that was answered before the dump began.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect } from 'vitest';
import { brokenPromises } from '../support/kept-promises.ts';
import { withClient } from '../support/postgres/client.ts';
import type { PostgresServer } from '../support/postgres/server.ts';
import { Cluster, missingPostgres, programs, startPostgres } from './postgres-cluster.ts';
import type { Scenario } from './scenario.ts';

export const postgresRestore: Scenario = {
  missing: missingPostgres,
  async play(round) {
    const postgres = await startPostgres(round);
    const cluster = await Cluster.open(round, postgres);
    await cluster.startAll();
    await cluster.answerMore();
    if (round.random.onceIn(2)) await cluster.killOne();
    const before = cluster.running.flatMap(({ clients }) => [...clients.answered]);
    const dump = join(postgres.folder, 'dump');
    await run(postgres, 'pg_dump', '--format=custom', `--file=${dump}`, 'postgres');
    await cluster.answerMore();
    const said = await cluster.check();
    await withClient(postgres.url, (client) => client.query('create database restored'));
    await run(postgres, 'pg_restore', '--dbname=restored', '--exit-on-error', dump);
    const url = postgres.url.replace('/postgres?', '/restored?');
    const node = await cluster.nodes.serve([], {}, 'restored');
    round.defer(() => node.end());
    expect(brokenPromises(before, await cluster.nodes.settledBooks(url))).toEqual([]);
    return `${before.length} answers restored, ${said}`;
  },
};

async function run({ folder }: PostgresServer, program: string, ...args: readonly string[]): Promise<void> {
  const connection = ['-h', folder, '-U', 'parley'];
  const child = spawn(join(programs ?? '', program), [...connection, ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${program} ended with ${code}`);
}
