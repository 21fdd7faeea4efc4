/** Ways in which a node, the database or the network between them fails and recovers. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { until } from '../support/command-line.ts';
import { withClient } from '../support/postgres/client.ts';
import type { Cluster } from './postgres-cluster.ts';

type Disturbance = (cluster: Cluster) => Promise<void>;

const silenceMs = 10_000;

/**
 * A node is killed, as the first fault. The other nodes fail no request, and release its holds.
 * @param env of the node that replaces it
 */
export async function killFirst(cluster: Cluster, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const others = await cluster.killOne();
  await cluster.answerMore(others);
  expect(others.map(({ clients }) => clients.refusals)).toEqual([0, 0]);
  await cluster.startAll([env]);
}

/** A node stops for longer than its lease: the others continue, and it continues afterwards. */
async function stopNode(cluster: Cluster): Promise<void> {
  const { random } = cluster.round;
  const victim = random.pick(cluster.running);
  victim.serving.kill('SIGSTOP');
  await cluster.answerMore(cluster.running.filter((node) => node !== victim));
  await until(async () => (await liveNodes(cluster)) === 2);
  victim.serving.kill('SIGCONT');
}

async function endConnections({ nodes }: Cluster): Promise<void> {
  await withClient(nodes.postgres.url, (client) =>
    client.query('select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()'),
  );
}

/** One process of the database is killed. The others end with it, and the database recovers by itself. */
async function killBackend({ nodes, round }: Cluster): Promise<void> {
  const pid = await withClient(nodes.postgres.url, async (client) => {
    const { rows } = await client.query(
      `select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
    return (round.random.pick(rows) as { pid: number }).pid;
  });
  try {
    process.kill(pid, 'SIGKILL');
    round.kills++;
  } catch {
    // The process has just ended.
  }
}

/** The database ends at once, as in a power failure, and restarts. */
async function killDatabase({ nodes, round }: Cluster): Promise<void> {
  await nodes.postgres.stop('SIGQUIT');
  round.kills++;
  await sleep(round.random.between(0, 3_000));
  nodes.postgres.start();
}

/** The network to the database is silent for a while. */
async function silence({ nodes, running }: Cluster): Promise<void> {
  const before = running.map(({ clients }) => clients.refusals);
  nodes.wire.hang();
  for (const [n, { clients }] of running.entries()) await until(() => clients.refusals > (before[n] ?? 0));
  await sleep(silenceMs);
  await nodes.wire.restore();
}

async function refuse({ nodes, round }: Cluster): Promise<void> {
  await nodes.wire.refuse();
  await sleep(round.random.between(100, 6_000));
  await nodes.wire.restore();
}

async function slowDown(cluster: Cluster): Promise<void> {
  const { nodes, round } = cluster;
  nodes.wire.delayMs = round.random.pick([1, 20, 50]) / 2;
  await cluster.answerMore();
  await nodes.wire.restore();
}

/** Acknowledgements of commits are lost. */
async function loseCommits({ nodes }: Cluster): Promise<void> {
  const enough = nodes.wire.lost + 10;
  nodes.wire.lostShare = 0.05;
  await until(() => nodes.wire.lost > enough);
  await nodes.wire.restore();
}

/**
 * Another program locks accounts and counts in the other order, finally for longer than a group waits for a lock. To resolve a deadlock the
 * database may end any of its transactions.
 */
async function lock({ nodes }: Cluster): Promise<void> {
  await withClient(nodes.postgres.url, async (client) => {
    for (let round = 0; round < 10; round++) {
      await client.query('begin');
      await client
        .query('select 1 from limit_counts for update')
        .then(() => client.query('select 1 from accounts order by id desc for update'))
        .catch(() => undefined);
      await client.query('rollback');
    }
    await until(async () => {
      await client.query('begin');
      return client.query('select 1 from accounts order by id for update').then(
        () => true,
        () => client.query('rollback').then(() => false),
      );
    });
    await sleep(6_000);
    await client.query('rollback');
  });
}

async function liveNodes({ nodes }: Cluster): Promise<number> {
  const { rows } = await withClient(nodes.postgres.url, (client) =>
    client.query('select count(*) as live from nodes where not dead'),
  );
  return Number(rows[0]?.live);
}

export const disturbances: readonly Disturbance[] = [
  stopNode,
  endConnections,
  killBackend,
  killDatabase,
  silence,
  refuse,
  slowDown,
  loseCommits,
  lock,
];
