/**
 * Clients repeat a request under its Idempotency-Key, at any node, until it is answered, while nodes and the database
 * are killed and answers of commits are lost. Each request is charged once, and its repetition gets the same answer.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Serving } from '../support/command-line.ts';
import { Nodes } from '../support/postgres/nodes.ts';
import { missingPostgres, startPostgres } from './postgres-cluster.ts';
import type { Round, Scenario } from './scenario.ts';

const clientsAtOnce = 6;
const disturbances = 6;
/** The longest pause before a repetition: impatient clients do not wait for Retry-After. */
const pauseMsMax = 400;
const mayRepeat: ReadonlySet<number> = new Set([503, 409]);

export const postgresRetries: Scenario = {
  missing: missingPostgres,
  async play(round) {
    const { random } = round;
    const nodes = await Nodes.create(await startPostgres(round), random);
    round.defer(() => nodes.close());
    const running: Serving[] = [];
    round.defer(() => Promise.all(running.map((node) => node.end())));
    for (let n = 0; n < 3; n++) running.push(await nodes.serve());
    const shop = new Shop(nodes.keys.apiKey, running, round);
    const shopping = shop.open();
    for (let n = 0; n < disturbances; n++) {
      await shop.sell(random.below(15));
      await disturb(nodes, running, round);
    }
    await nodes.wire.restore();
    await shop.sell(10);
    await shop.close();
    await shopping;
    const { records, entries } = await nodes.settledBooks();
    const paid = records.filter(({ account, state }) => account === 'demo' && state === 'ok');
    expect(paid.length).toBe(shop.sold);
    const chats = paid.filter(({ operation }) => operation === 'chat').length;
    expect(entries.filter(({ account, kind }) => account === 'demo' && kind === 'debit').length).toBe(chats);
    return `${shop.sold} requests answered once, ${shop.repeated} repetitions`;
  },
};

async function disturb(nodes: Nodes, running: Serving[], round: Round): Promise<void> {
  const { random } = round;
  switch (random.below(4)) {
    case 0: {
      const at = random.below(running.length);
      running[at]?.kill('SIGKILL');
      round.kills++;
      running[at] = await nodes.serve();
      return;
    }
    case 1:
      await nodes.postgres.stop('SIGQUIT');
      round.kills++;
      await sleep(random.below(3_000));
      return nodes.postgres.start();
    case 2:
      await nodes.wire.refuse();
      await sleep(random.below(4_000));
      return nodes.wire.restore();
    default:
      nodes.wire.lostShare = 0.3;
      await sleep(random.below(3_000));
      return nodes.wire.restore();
  }
}

/** Clients that each send one request after the other. */
class Shop {
  readonly #key: string;
  readonly #nodes: readonly Serving[];
  readonly #round: Round;
  #isOpen = true;
  #closing: Promise<void> | undefined;
  #failure: unknown;
  sold = 0;
  repeated = 0;

  constructor(key: string, nodes: readonly Serving[], round: Round) {
    this.#key = key;
    this.#nodes = nodes;
    this.#round = round;
  }

  async open(): Promise<void> {
    const buy = async (client: number) => {
      for (let n = 0; this.#isOpen; n++) await this.#buy(`${client}-${n}`);
    };
    this.#closing = Promise.all(Array.from({ length: clientsAtOnce }, (_, client) => buy(client))).then(
      () => undefined,
      (error: unknown) => {
        this.#failure = error;
      },
    );
    await this.#closing;
  }

  /** Resolves when so many more requests were answered. */
  async sell(count: number): Promise<void> {
    const enough = this.sold + count;
    while (this.sold < enough && this.#failure === undefined) await sleep(10);
    if (this.#failure !== undefined) throw this.#failure;
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    await this.#closing;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Sends the request until it is answered, and once more. */
  async #buy(key: string): Promise<void> {
    const isChat = this.#round.random.onceIn(2);
    const request = isChat
      ? (['/chat/completions', { model: 'eliza', messages: [{ role: 'user', content: 'Hello.' }] }] as const)
      : (['/audio/speech', { model: 'flite', input: 'Hello.', response_format: 'pcm' }] as const);
    const first = await this.#insist(key, request);
    this.sold++;
    const second = await this.#insist(key, request);
    expect(second.isReplayed).toBe(true);
    expect(second.body.equals(first.body)).toBe(true);
  }

  async #insist(key: string, request: readonly [path: string, body: object]) {
    for (;;) {
      const answer = await this.#ask(key, request).catch(lost);
      if (answer !== undefined) return answer;
      this.repeated++;
      await sleep(this.#round.random.below(pauseMsMax));
    }
  }

  /** Undefined if the request must be repeated. */
  async #ask(key: string, [path, body]: readonly [path: string, body: object]) {
    const { baseUrl } = this.#round.random.pick(this.#nodes);
    const headers = { authorization: `Bearer ${this.#key}`, 'idempotency-key': key };
    const response = await fetch(baseUrl + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const answer = Buffer.from(await response.arrayBuffer());
    if (response.ok) return { body: answer, isReplayed: response.headers.has('idempotent-replayed') };
    if (mayRepeat.has(response.status)) return undefined;
    throw new Error(`${response.status} ${answer}`);
  }
}

/** The connection was refused, or ended during an answer. */
function lost(error: unknown): undefined {
  const isLost = error instanceof TypeError && /^(fetch failed|terminated)$/.test(error.message);
  if (!isLost) throw error;
}
