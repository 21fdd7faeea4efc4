/**
 * The program as a process, killed at random moments under load, and started again on what is left: what was acknowledged
 * is kept, nothing is charged twice, and nothing stays held.
 *
 *   PARLEY_KILL_ROUNDS=50 PARLEY_KILL_SEED=7 npm test -- test/slow/kill.test.ts
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type BookedRecord, type Books, fileFaults, readBooks } from '../support/books.ts';
import { type Folder, type Serving, scratchFolder, serve } from '../support/command-line.ts';
import { type Answered, PayingClients, type Server } from '../support/paying-clients.ts';
import { Random } from '../support/random.ts';

const rounds = Number(process.env['PARLEY_KILL_ROUNDS'] ?? 10);
const seed = Number(process.env['PARLEY_KILL_SEED'] ?? Date.now() % 2 ** 32);
const lifeMs = { least: 100, most: 4_000 };
const roundMsMax = 60_000;
/** The default price of eliza, in nano-credits a token. */
const price = { prompt: 100n, completion: 400n };

let folder: Folder;
let dataDir: string;
let serving: Serving | undefined;
beforeEach(() => {
  folder = scratchFolder();
  dataDir = folder.file('data');
});
afterEach(async () => {
  await serving?.close();
  serving = undefined;
  folder.remove();
});

const start = async (...args: string[]) => {
  serving = await serve(['--data-dir', dataDir, ...args], { cwd: folder.path });
  return serving;
};

async function firstStart(): Promise<Omit<Server, 'baseUrl'>> {
  const all = { fairUse: { trialUnitsPerMonth: 1_000_000_000 } };
  writeFileSync(folder.file('parley.yaml'), JSON.stringify(all));
  const { baseUrl } = await start('--demo');
  const { apiKey, adminKey } = JSON.parse(readFileSync(join(dataDir, 'first-run.json'), 'utf8'));
  const admin = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${adminKey}` };
    const response = await fetch(`${baseUrl}/admin${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
    return (await response.json()) as Record<string, string>;
  };
  await admin('/accounts', { name: 'careful' });
  await admin('/accounts/careful/credits', { amount: '10', reason: 'test', idempotency_key: 'first' });
  const { secret: carefulKey = '' } = await admin('/accounts/careful/keys', { name: 'careful' });
  return { apiKey, adminKey, carefulKey };
}

/** Differences between the books and the answers that clients got. */
function brokenPromises(answered: readonly Answered[], { records }: Books): unknown[] {
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

function check(books: Books, clients: PayingClients): void {
  expect(fileFaults(dataDir)).toEqual([]);
  expect(books.faults).toEqual([]);
  expect(books.accounts.filter(({ held }) => held !== 0n)).toEqual([]);
  expect(books.units.filter(({ reserved }) => reserved !== 0)).toEqual([]);
  expect(books.records.filter(({ state }) => state === 'started')).toEqual([]);
  expect(clients.surprises).toEqual([]);
  expect(brokenPromises(clients.answered, books)).toEqual([]);
  const loads = new Set(books.entries.map(({ reference }) => reference));
  expect([...clients.done.load].filter((key) => !loads.has(key))).toEqual([]);
  const careful = books.records.filter(({ account, state }) => account === 'careful' && state === 'ok');
  expect(careful.length).toBeGreaterThanOrEqual(clients.done.careful.size);
  expect(careful.length).toBeLessThanOrEqual(clients.done.careful.size + clients.open('careful'));
}

const timeout = (rounds + 2) * roundMsMax;
it(`keeps its word through ${rounds} kills`, { timeout }, async () => {
  process.stdout.write(`PARLEY_KILL_SEED=${seed}\n`);
  const random = new Random(seed);
  const clients = new PayingClients(random);
  const keys = await firstStart();
  for (let round = 0; round < rounds; round++) {
    const { baseUrl, kill, ended } = serving ?? (await start());
    const gone = clients.useUntilGone({ ...keys, baseUrl });
    await sleep(random.between(lifeMs.least, lifeMs.most));
    kill('SIGKILL');
    await Promise.all([gone, ended]);
    await start();
    check(readBooks(dataDir), clients);
  }
  await clients.finishErrands({ ...keys, baseUrl: serving?.baseUrl ?? '' });
  const books = readBooks(dataDir);
  check(books, clients);
  expect([clients.open('load'), clients.open('careful')]).toEqual([0, 0]);
  const of = (state: string) => books.records.filter((record) => record.state === state).length;
  const summary = `${clients.answered.length} answers, ${of('interrupted')} interrupted, ${of('replayed')} replayed`;
  process.stdout.write(`${summary}\n`);
  expect(of('interrupted')).toBeGreaterThan(0);
});
