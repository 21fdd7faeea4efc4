/** Several servers on one PostgreSQL, each a separate process, and their paying clients. */
import { writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { Books } from '../books.ts';
import { type Folder, type Serving, scratchFolder, serve, until } from '../command-line.ts';
import { brokenPromises, checkExact, openAccounts } from '../kept-promises.ts';
import { PayingClients, type Server } from '../paying-clients.ts';
import type { Random } from '../random.ts';
import { readPostgresBooks } from './books.ts';
import { withClient } from './client.ts';
import { DatabaseProxy } from './proxy.ts';
import type { PostgresServer } from './server.ts';

/**
 * Statuses for an unreachable database, for a request whose node was marked dead, and for an Idempotency-Key whose
 * first request still runs on another node.
 */
const refusals: ReadonlySet<number> = new Set([503, 409]);

export interface RunningNode {
  readonly serving: Serving;
  readonly clients: PayingClients;
  /** Ends its clients, after their requests. */
  leave(): Promise<void>;
}

interface UsedOptions {
  readonly env?: Readonly<Record<string, string>>;
}

export class Nodes {
  /** The PostgreSQL with the books. */
  postgres: PostgresServer;
  /** A proxy between the nodes and PostgreSQL. */
  readonly wire: DatabaseProxy;
  readonly #folder: Folder = scratchFolder();
  readonly #random: Random;
  readonly #settings: object;
  readonly #clients: PayingClients[] = [];
  #keys: Omit<Server, 'baseUrl'> | undefined;
  #started = 0;
  /** Answered errands of clients that were removed from the list. */
  #carefulBefore = 0;

  private constructor(postgres: PostgresServer, wire: DatabaseProxy, random: Random, settings: object) {
    this.postgres = postgres;
    this.wire = wire;
    this.#random = random;
    this.#settings = settings;
  }

  /**
   * Opens the accounts in the database of a PostgreSQL that runs.
   * @param settings of the servers, except those of the store and of fair use
   */
  static async create(postgres: PostgresServer, random: Random, settings: object = {}): Promise<Nodes> {
    const nodes = new Nodes(postgres, await DatabaseProxy.open(postgres.url), random, settings);
    await withClient(postgres.url, async () => undefined);
    const serving = await nodes.serve(['--demo']);
    nodes.#keys = await openAccounts(serving.baseUrl, nodes.#folder.file('data-1'));
    await serving.close();
    return nodes;
  }

  /** Removes the clients of earlier servers from the list. */
  forgetClients(): void {
    this.#carefulBefore += this.#carefulDone;
    this.#clients.length = 0;
  }

  get answered(): number {
    return this.#clients.reduce((sum, { answered }) => sum + answered.length, 0);
  }

  get answeredIds(): ReadonlySet<string> {
    return new Set(this.#clients.flatMap(({ answered }) => answered.map(({ id }) => id)));
  }

  get refusals(): number {
    return this.#clients.reduce((sum, { refusals }) => sum + refusals, 0);
  }

  get #carefulDone(): number {
    return this.#clients.reduce((sum, { done }) => sum + done.careful.size, 0);
  }

  get keys(): Omit<Server, 'baseUrl'> {
    if (this.#keys === undefined) throw new Error('the accounts are not open');
    return this.#keys;
  }

  /** Starts a server. @param database Default: the shared one */
  serve(
    args: readonly string[] = [],
    env: Readonly<Record<string, string>> = {},
    database = 'postgres',
  ): Promise<Serving> {
    const settings = {
      ...this.#settings,
      store: { kind: 'postgres', url: this.wire.url.replace('/postgres?', `/${database}?`) },
      fairUse: { trialUnitsPerMonth: 1_000_000_000 },
    };
    const file = this.#folder.file('parley.yaml');
    writeFileSync(file, JSON.stringify(settings));
    const dataDir = this.#folder.file(`data-${++this.#started}`);
    return serve(['--data-dir', dataDir, ...args], { cwd: this.#folder.path, env });
  }

  /** Starts a server and the clients that use it, until it ends or they leave. */
  async startUsed({ env = {} }: UsedOptions = {}): Promise<RunningNode> {
    const serving = await this.serve([], env);
    const mayRefuse = (status: number) => refusals.has(status);
    const clients = new PayingClients(this.#random, mayRefuse, `${this.#started}-`);
    this.#clients.push(clients);
    let isUsed = true;
    void serving.ended.then(() => {
      isUsed = false;
    });
    const left = clients.useWhile({ ...this.keys, baseUrl: serving.baseUrl }, () => isUsed);
    left.catch((error: unknown) => clients.surprises.push(String(error)));
    const leave = async () => {
      isUsed = false;
      await left;
    };
    return { serving, clients, leave };
  }

  /** After all requests have ended: repeats unanswered ones, then compares the books with the answers of all clients. */
  async check({ baseUrl }: Serving): Promise<Books> {
    for (const clients of this.#clients) {
      await until(async () => {
        await clients.finishErrands({ ...this.keys, baseUrl });
        return clients.open('load') + clients.open('careful') === 0;
      }).catch((cause) => {
        throw new Error(`errands are not answered: ${clients.lastRefusal}`, { cause });
      });
    }
    const books = await this.settledBooks();
    for (const clients of this.#clients) {
      expect(clients.surprises).toEqual([]);
      expect(brokenPromises(clients.answered, books)).toEqual([]);
    }
    const careful = books.records.filter(({ account, state }) => account === 'careful' && state === 'ok');
    expect(careful.length).toBe(this.#carefulBefore + this.#carefulDone);
    const loads = new Set(books.entries.map(({ reference }) => reference));
    const loaded = this.#clients.flatMap(({ done }) => [...done.load]);
    expect(loaded.filter((key) => !loads.has(key))).toEqual([]);
    return books;
  }

  /**
   * Checks that the books are exact after all requests have ended, whatever answers clients got.
   *
   * @param url of the database. Default: that of the servers
   */
  async settledBooks(url = this.postgres.url): Promise<Books> {
    await until(async () => runningIn(await readPostgresBooks({ url })).length === 0);
    const books = await readPostgresBooks({ url });
    checkExact(books);
    return books;
  }

  async close(): Promise<void> {
    await this.wire.close();
    this.#folder.remove();
  }
}

function runningIn({ records }: Books): string[] {
  return records.filter(({ state }) => state === 'started').map(({ id }) => id);
}
