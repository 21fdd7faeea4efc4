/**
 * The disk of PostgreSQL is full for a while. If only the tables are on it, statements fail. If the log is on it too,
 * the whole database ends and restarts.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../support/command-line.ts';
import { withClient } from '../support/postgres/client.ts';
import type { PostgresServer } from '../support/postgres/server.ts';
import { Cluster, missingPostgres, startPostgres } from './postgres-cluster.ts';
import type { Round, Scenario } from './scenario.ts';

const diskBytes = 160 * 1024 * 1024;
const failures = 2;

export const postgresDiskFull: Scenario = {
  missing: missingPostgres ?? (process.getuid?.() === 0 ? undefined : 'only root may mount a small disk'),
  async play(round) {
    const hasOwnLog = round.random.onceIn(2);
    const postgres = await startOnSmallDisk(round, hasOwnLog);
    const cluster = await Cluster.open(round, postgres);
    await cluster.startAll();
    for (let n = 0; n < failures; n++) {
      await cluster.answerMore();
      await fill(cluster, postgres);
    }
    await cluster.answerMore();
    return `${hasOwnLog ? 'tables' : 'tables and log'} on the full disk, ${await cluster.check()}`;
  },
};

/** @param hasOwnLog whether the write-ahead log is on another disk */
function startOnSmallDisk(round: Round, hasOwnLog: boolean): Promise<PostgresServer> {
  const logFolder = (data: string) => join(data, '..', 'log');
  return startPostgres(round, {
    // Kept segments of the log would fill the disk by themselves.
    settings: { max_wal_size: '32MB', min_wal_size: '4MB', autovacuum: 'off' },
    prepare: (data) => mount(round, data),
    initdb: (data) => ['--wal-segsize=1', ...(hasOwnLog ? [`--waldir=${logFolder(data)}`] : [])],
  });
}

function mount(round: Round, folder: string): void {
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes}`, 'tmpfs', folder]);
  if (status !== 0) throw new Error(String(stderr));
  round.defer(() => spawnSync('umount', [folder]));
}

/** Fills the disk until each node has refused requests, and for some time longer. */
async function fill({ running, round }: Cluster, postgres: PostgresServer): Promise<void> {
  const ballast = join(postgres.data, 'ballast');
  const before = running.map(({ clients }) => clients.refusals);
  writeUntilFull(ballast);
  for (const [n, { clients }] of running.entries()) {
    await until(() => clients.refusals > (before[n] ?? 0) || clients.surprises.length > 0);
  }
  await sleep(round.random.between(0, 5_000));
  rmSync(ballast);
  // PostgreSQL gives up if it cannot write its log during recovery either.
  if (!postgres.isRunning()) {
    round.kills++;
    postgres.start();
  }
  await withClient(postgres.url, (client) => client.query('select 1'));
}

/** Takes every free byte. PostgreSQL writes at the same time, so how many there are is only known when a write fails. */
function writeUntilFull(path: string): void {
  const block = Buffer.alloc(1024 * 1024);
  const file = openSync(path, 'w');
  try {
    for (;;) writeSync(file, block);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(file);
  }
}
