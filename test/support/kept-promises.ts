/** A server with paying clients, and checks of its books after a kill. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type BookedRecord, type Books, fileFaults, readBooks } from './books.ts';
import { type Folder, type RunOptions, type Serving, serve } from './command-line.ts';
import { checkCounts, setLimits } from './kept-budgets.ts';
import type { Answered, PayingClients, Server } from './paying-clients.ts';

/** The default price of eliza, in nano-credits per token. */
const price = { prompt: 100n, completion: 400n };

/** A folder with an account for everyday clients, and one whose requests are repeated until they are answered. */
export class PayingServer {
  readonly dataDir: string;
  readonly #folder: Folder;
  serving: Serving | undefined;

  constructor(folder: Folder) {
    this.#folder = folder;
    this.dataDir = folder.file('data');
  }

  async start(args: readonly string[] = [], env: RunOptions['env'] = {}): Promise<Serving> {
    this.serving = await serve(['--data-dir', this.dataDir, ...args], { cwd: this.#folder.path, env });
    return this.serving;
  }

  async close(): Promise<void> {
    await this.serving?.close();
    this.#folder.remove();
  }

  /** Kills the server if it runs, and removes the folder. */
  async end(): Promise<void> {
    await this.serving?.end();
    this.#folder.remove();
  }

  /** Opens the accounts. @param env of the servers that are started later */
  async firstStart(env: RunOptions['env'] = {}): Promise<Omit<Server, 'baseUrl'>> {
    const all = { fairUse: { trialUnitsPerMonth: 1_000_000_000 } };
    writeFileSync(this.#folder.file('parley.yaml'), JSON.stringify(all));
    const { baseUrl } = await this.start(['--demo'], env);
    return openAccounts(baseUrl, this.dataDir);
  }

  /** Checks that the books are exact after a start, whatever answers clients got. */
  readExact(): Books {
    const books = readBooks(this.dataDir);
    expect(fileFaults(this.dataDir)).toEqual([]);
    checkExact(books);
    return books;
  }

  /** Compares the books, after a start on the data of a killed server, with the answers that clients got. */
  check(clients: PayingClients): Books {
    const books = this.readExact();
    expect(clients.surprises).toEqual([]);
    expect(brokenPromises(clients.answered, books)).toEqual([]);
    const loads = new Set(books.entries.map(({ reference }) => reference));
    expect([...clients.done.load].filter((key) => !loads.has(key))).toEqual([]);
    const careful = books.records.filter(({ account, state }) => account === 'careful' && state === 'ok');
    expect(careful.length).toBeGreaterThanOrEqual(clients.done.careful.size);
    expect(careful.length).toBeLessThanOrEqual(clients.done.careful.size + clients.open('careful'));
    return books;
  }
}

/** Checks the books of servers without running requests by their own rules. */
export function checkExact(books: Books): void {
  expect(books.faults).toEqual([]);
  expect(books.accounts.filter(({ held }) => held !== 0n)).toEqual([]);
  expect(books.units.filter(({ reserved }) => reserved !== 0)).toEqual([]);
  expect(books.records.filter(({ state }) => state === 'started')).toEqual([]);
  checkCounts(books);
}

/**
 * Opens the account of clients that repeat their requests, and the account of clients that soon spend their budget. All
 * accounts and keys have every limit.
 * @param dataDir of a server that was started with `--demo`
 */
export async function openAccounts(baseUrl: string, dataDir: string): Promise<Omit<Server, 'baseUrl'>> {
  const { apiKey, adminKey } = JSON.parse(readFileSync(join(dataDir, 'first-run.json'), 'utf8'));
  const admin = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${adminKey}` };
    const response = await fetch(`${baseUrl}/admin${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
    return (await response.json()) as { readonly secret: string; readonly key: { readonly id: string } };
  };
  const open = async (name: 'careful' | 'frugal') => {
    await admin('/accounts', { name });
    await admin(`/accounts/${name}/credits`, { amount: '10', reason: 'test', idempotency_key: 'first' });
    const { secret, key } = await admin(`/accounts/${name}/keys`, { name });
    await setLimits(admin, name, key.id, name === 'frugal');
    return secret;
  };
  const keys = { apiKey, adminKey, carefulKey: await open('careful'), frugalKey: await open('frugal') };
  const list = await fetch(`${baseUrl}/admin/accounts/demo/keys`, {
    headers: { authorization: `Bearer ${adminKey}` },
  });
  const { keys: demo } = (await list.json()) as { keys: readonly { readonly id: string }[] };
  await setLimits(admin, 'demo', demo[0]?.id ?? '');
  return keys;
}

/** Differences between the books and the answers that clients got. */
export function brokenPromises(answered: readonly Answered[], { records }: Books): unknown[] {
  const byId = new Map(records.map((record) => [record.id, record]));
  return answered
    .map((promise) => ({ promise, record: byId.get(promise.id) }))
    .filter(({ promise, record }) => record === undefined || !keeps(record, promise));
}

function keeps(record: BookedRecord, { operation, usage }: Answered): boolean {
  if (record.state !== 'ok' || record.operation !== operation) return false;
  if (usage === undefined) return record.cost === undefined;
  const [prompt, completion] = usage;
  const cost = price.prompt * BigInt(prompt) + price.completion * BigInt(completion);
  return record.promptTokens === prompt && record.completionTokens === completion && record.cost === cost;
}
