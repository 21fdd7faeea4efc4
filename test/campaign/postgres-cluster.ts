/** Three nodes on one PostgreSQL, with their clients. */
import { expect } from 'vitest';
import { until } from '../support/command-line.ts';
import { Nodes, type RunningNode } from '../support/postgres/nodes.ts';
import { postgresPrograms } from '../support/postgres/programs.ts';
import { PostgresServer } from '../support/postgres/server.ts';
import type { Round } from './scenario.ts';

export const programs = postgresPrograms();
export const missingPostgres =
  programs === undefined ? 'the Debian package postgresql is not installed' : undefined;

/** Answers before a fault begins, and before the service counts as running again. */
const answersEach = 20;

/** Starts a PostgreSQL that ends with the round. */
export async function startPostgres(
  round: Round,
  options?: Parameters<typeof PostgresServer.create>[1],
): Promise<PostgresServer> {
  // A disk that `prepare` mounts is unmounted after PostgreSQL ends and before its folder is removed.
  const started: PostgresServer[] = [];
  round.defer(() => Promise.all(started.map((postgres) => postgres.remove())));
  const postgres = await PostgresServer.create(programs ?? '', options);
  started.push(postgres);
  round.defer(() => postgres.stop());
  return postgres;
}

export class Cluster {
  readonly nodes: Nodes;
  readonly round: Round;
  running: RunningNode[] = [];

  private constructor(nodes: Nodes, round: Round) {
    this.nodes = nodes;
    this.round = round;
  }

  /** Opens the accounts. @param settings of the nodes */
  static async open(round: Round, postgres: PostgresServer, settings?: object): Promise<Cluster> {
    const cluster = new Cluster(await Nodes.create(postgres, round.random, settings), round);
    round.defer(() => cluster.nodes.close());
    round.defer(() => cluster.#end());
    return cluster;
  }

  /** @param environments of the nodes. Default: three, without any */
  async startAll(environments: readonly Readonly<Record<string, string>>[] = [{}, {}, {}]): Promise<void> {
    for (const env of environments) this.running.push(await this.nodes.startUsed({ env }));
  }

  /** Resolves when each of the nodes has answered some more requests. */
  async answerMore(some: readonly RunningNode[] = this.running): Promise<void> {
    const before = some.map(({ clients }) => clients.answered.length);
    for (const [n, { clients, serving }] of some.entries()) {
      const hasFailed = () => !serving.isRunning() || clients.surprises.length > 0;
      await until(() => hasFailed() || clients.answered.length > (before[n] ?? 0) + answersEach);
      expect(clients.surprises, serving.stderr().slice(-4_000)).toEqual([]);
      if (!serving.isRunning()) throw new Error(`a node has ended: ${serving.stderr().slice(-2_000)}`);
    }
  }

  hasSurprises(): boolean {
    return this.running.some(({ clients }) => clients.surprises.length > 0);
  }

  /** Kills one of the nodes, and returns the others. */
  async killOne(): Promise<RunningNode[]> {
    const victim = this.round.random.pick(this.running);
    victim.serving.kill('SIGKILL');
    this.round.kills++;
    await victim.serving.ended;
    await victim.leave();
    this.running = this.running.filter((node) => node !== victim);
    return this.running;
  }

  /** Waits for the clients to leave, and compares the books with their answers. */
  async check(): Promise<string> {
    await this.leave();
    const [first] = this.running;
    if (first === undefined) throw new Error('no node is left');
    const { records } = await this.nodes.check(first.serving);
    const of = (state: string) => records.filter((record) => record.state === state).length;
    return `${this.nodes.answered} answers, ${this.nodes.refusals} refused, ${of('interrupted')} interrupted, ${of('replayed')} replayed`;
  }

  async leave(): Promise<void> {
    await Promise.all(this.running.map(({ leave }) => leave()));
  }

  async #end(): Promise<void> {
    await Promise.all(this.running.map(({ serving }) => serving.end()));
  }
}
