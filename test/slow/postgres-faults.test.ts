/**
 * Three servers before one PostgreSQL, under load, while one of them, the database or the wire between them fails: what was acknowledged is
 * kept, nothing is charged twice, and nothing stays held.
 *
 *   PARLEY_KILL_SEED=7 npm test -- test/slow/postgres-faults.test.ts
 */
import { globSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/command-line.ts';
import { withClient } from '../support/postgres/database.ts';
import { Nodes, type RunningNode } from '../support/postgres/nodes.ts';
import { postgresPrograms } from '../support/postgres/programs.ts';
import { Random } from '../support/random.ts';

const programs = postgresPrograms();
const missing = programs === undefined ? ' (skipped: the Debian package postgresql is not installed)' : '';
const clockFaker = globSync('/usr/lib/*/faketime/libfaketime.so.1')[0];
const missingFaker =
  clockFaker === undefined ? ' (skipped: the Debian package faketime is not installed)' : '';
const seed = Number(process.env['PARLEY_KILL_SEED'] ?? Date.now() % 2 ** 32);
/** Answers after which a fault begins, and after which the service is shown to go on. */
const answersEach = 20;

describe.skipIf(programs === undefined)(`three nodes keep their word${missing}`, () => {
  let nodes: Nodes;
  let running: RunningNode[] = [];
  beforeAll(async () => {
    process.stdout.write(`PARLEY_KILL_SEED=${seed}\n`);
    nodes = await Nodes.create(programs ?? '', new Random(seed));
  });
  afterEach(async () => {
    await nodes.wire.restore();
    await Promise.all(running.map(({ serving }) => serving.end()));
  });
  afterAll(async () => {
    await nodes?.close();
  });

  const startThree = async (options?: Parameters<Nodes['startUsed']>[0]) => {
    running = [];
    nodes.forgetClients();
    for (let node = 0; node < 3; node++) running.push(await nodes.startUsed(options));
  };

  /** Resolves when each of the nodes has answered some more requests. */
  const answerMore = async (some: readonly RunningNode[] = running) => {
    const before = some.map(({ clients }) => clients.answered.length);
    for (const [n, { clients, serving }] of some.entries()) {
      const hasFailed = () => !serving.isRunning() || clients.surprises.length > 0;
      await until(() => hasFailed() || clients.answered.length > (before[n] ?? 0) + answersEach);
      expect(clients.surprises).toEqual([]);
      if (!serving.isRunning()) throw new Error(`a node has ended: ${serving.stderr().slice(-2_000)}`);
    }
  };

  /** Lets the clients leave, holds the books against what they were told, and ends the servers. */
  const checkAndEnd = async () => {
    await Promise.all(running.map(({ leave }) => leave()));
    const [first] = running.filter(({ serving }) => serving.isRunning());
    if (first === undefined) throw new Error('no node is left');
    const books = await nodes.check(first.serving);
    await Promise.all(running.map(({ serving }) => serving.close()));
    return books;
  };

  it('while one is killed: the others fail no request, and release what it held', async () => {
    await startThree();
    const [victim, ...others] = running as [RunningNode, ...RunningNode[]];
    await answerMore();
    victim.serving.kill('SIGKILL');
    await answerMore(others);
    await checkAndEnd();
    expect(others.map(({ clients }) => clients.refusals)).toEqual([0, 0]);
  });

  it('while one is stopped for longer than its lease: the others go on, and it goes on after it', async () => {
    await startThree();
    const [victim, ...others] = running as [RunningNode, ...RunningNode[]];
    await answerMore();
    victim.serving.kill('SIGSTOP');
    await answerMore(others);
    await expect.poll(() => withClient(nodes.postgres.url, liveNodes)).toBe(2);
    victim.serving.kill('SIGCONT');
    await answerMore();
    await checkAndEnd();
  });

  it('while connections of the database are ended', async () => {
    await startThree();
    for (let round = 0; round < 3; round++) {
      await answerMore();
      await withClient(nodes.postgres.url, (client) =>
        client.query('select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()'),
      );
    }
    await answerMore();
    await checkAndEnd();
  });

  it('while the database ends at once, as by a power failure, and comes back', async () => {
    await startThree();
    await answerMore();
    await nodes.postgres.stop('SIGQUIT');
    await sleep(1_000);
    nodes.postgres.start();
    await answerMore();
    await checkAndEnd();
  });

  it('while the network to the database is silent for ten seconds', async () => {
    await startThree();
    await answerMore();
    nodes.wire.hang();
    for (const { clients } of running) await until(() => clients.refusals > 0);
    await sleep(10_000);
    await nodes.wire.restore();
    await answerMore();
    await checkAndEnd();
  });

  it.each([1, 50])('with %i ms to the database and back', async (delayMs) => {
    await startThree();
    nodes.wire.delayMs = delayMs / 2;
    await answerMore();
    await answerMore();
    await nodes.wire.restore();
    await checkAndEnd();
  });

  it('while acknowledgements of commits are lost', async () => {
    await startThree();
    nodes.wire.lostShare = 0.05;
    await until(() => nodes.wire.lost > 30);
    await nodes.wire.restore();
    await answerMore();
    await checkAndEnd();
  });

  it.skipIf(clockFaker === undefined)(`with clocks an hour apart${missingFaker}`, async () => {
    nodes.forgetClients();
    running = [];
    for (const skew of ['+1h', '-1h', '+0']) {
      const env = { LD_PRELOAD: clockFaker ?? '', FAKETIME: skew, DONT_FAKE_MONOTONIC: '1' };
      running.push(await nodes.startUsed({ env }));
    }
    await answerMore();
    const [victim, ...others] = running as [RunningNode, ...RunningNode[]];
    victim.serving.kill('SIGKILL');
    await answerMore(others);
    await checkAndEnd();
    expect(others.map(({ clients }) => clients.refusals)).toEqual([0, 0]);
  });

  it('while another program locks accounts and counters in the other order', async () => {
    await startThree();
    await answerMore();
    await withClient(nodes.postgres.url, async (client) => {
      for (let round = 0; round < 10; round++) {
        await client.query('begin');
        await client.query('select 1 from fair_use for update');
        await client.query('select 1 from accounts order by id desc for update').catch(() => undefined);
        await client.query('rollback');
      }
      // Longer than a group waits for a lock. The database may end this transaction, too, to resolve a deadlock.
      await until(async () => {
        await client.query('begin');
        const locks = client.query('select 1 from accounts order by id for update');
        return locks.then(
          () => true,
          () => client.query('rollback').then(() => false),
        );
      });
      await sleep(6_000);
      await client.query('rollback');
    });
    await answerMore();
    await checkAndEnd();
  });
});

async function liveNodes(client: {
  query(text: string): Promise<{ rows: { live: bigint }[] }>;
}): Promise<number> {
  const { rows } = await client.query('select count(*) as live from nodes where not dead');
  return Number(rows[0]?.live);
}
