/**
 * The database is killed, and its streaming standby takes over. A synchronous standby has every answered request. An
 * asynchronous one may lack the last commits, but its books are exact and have everything that had reached it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { until } from '../support/command-line.ts';
import { brokenPromises } from '../support/kept-promises.ts';
import { withClient } from '../support/postgres/client.ts';
import type { PostgresServer } from '../support/postgres/server.ts';
import { Cluster, missingPostgres, startPostgres } from './postgres-cluster.ts';
import type { Scenario } from './scenario.ts';

export const postgresStandby: Scenario = {
  missing: missingPostgres,
  async play(round) {
    const { random } = round;
    const isSynchronous = random.onceIn(2);
    const isStalled = isSynchronous && random.onceIn(2);
    const primary = await startPostgres(round);
    const cluster = await Cluster.open(round, primary);
    const standby = await primary.standby();
    round.defer(() => standby.remove());
    await withClient(standby.url, async () => undefined);
    if (isSynchronous) await waitForStandby(primary);
    await cluster.startAll();
    await cluster.answerMore();
    await caughtUp(primary, standby);
    const kept = cluster.nodes.answeredIds;
    const endStall = isStalled ? await stall(cluster, standby) : () => undefined;
    await sleep(random.below(500));
    await primary.stop('SIGQUIT');
    round.kills++;
    endStall();
    await takeOver(cluster, standby);
    await cluster.answerMore();
    if (!isSynchronous) return `asynchronous, ${await checkAfterLoss(cluster, kept)}`;
    return `synchronous${isStalled ? ' after a stall' : ''}, ${await cluster.check()}`;
  },
};

async function takeOver({ nodes }: Cluster, standby: PostgresServer): Promise<void> {
  const promote = () => withClient(standby.url, (client) => client.query('select pg_promote()'));
  // A standby whose receiver was killed may be restarting.
  await until(() =>
    promote().then(
      () => true,
      () => false,
    ),
  );
  await nodes.wire.refuse();
  nodes.wire.lead(standby.url);
  await nodes.wire.restore();
  nodes.postgres = standby;
}

/** From now on commits wait for the standby. */
async function waitForStandby(primary: PostgresServer): Promise<void> {
  await withClient(primary.url, async (client) => {
    await client.query(`alter system set synchronous_standby_names = '*'`);
    await client.query('select pg_reload_conf()');
    const state = 'select count(*) as ready from pg_stat_replication where sync_state = $1';
    await until(async () => (await client.query(state, ['sync'])).rows[0].ready > 0n);
  });
}

/**
 * Stops the receiver of the standby: commits are not acknowledged, and each node refuses requests. Returns a function
 * that ends the receiver, so that it gets no data that is still on its way.
 */
async function stall({ running, round }: Cluster, standby: PostgresServer): Promise<() => void> {
  const before = running.map(({ clients }) => clients.refusals);
  const pid = await withClient(standby.url, async (client) => {
    const { rows } = await client.query(
      `select pid from pg_stat_activity where backend_type = 'walreceiver'`,
    );
    return rows[0].pid as number;
  });
  process.kill(pid, 'SIGSTOP');
  for (const [n, { clients }] of running.entries()) {
    await until(() => clients.refusals > (before[n] ?? 0) || clients.surprises.length > 0);
  }
  return () => {
    process.kill(pid, 'SIGKILL');
    round.kills++;
  };
}

/** Resolves when the standby has everything that is committed now. */
async function caughtUp(primary: PostgresServer, standby: PostgresServer): Promise<void> {
  const { rows } = await withClient(primary.url, (client) =>
    client.query('select pg_current_wal_lsn()::text as lsn'),
  );
  await withClient(standby.url, (client) =>
    until(async () => {
      const reached = 'select pg_last_wal_replay_lsn() >= $1::pg_lsn as reached';
      return (await client.query(reached, [rows[0].lsn])).rows[0].reached;
    }),
  );
}

/** @param kept ids of the requests that were answered before the standby had caught up */
async function checkAfterLoss(cluster: Cluster, kept: ReadonlySet<string>): Promise<string> {
  await cluster.leave();
  const books = await cluster.nodes.settledBooks();
  const answered = cluster.running.flatMap(({ clients }) => clients.answered);
  expect(cluster.running.flatMap(({ clients }) => clients.surprises)).toEqual([]);
  const lost = brokenPromises(answered, books).length;
  expect(
    brokenPromises(
      answered.filter(({ id }) => kept.has(id)),
      books,
    ),
  ).toEqual([]);
  return `${answered.length} answers, ${lost} of the last ${answered.length - kept.size} lost`;
}
