/**
 * The money path alone: find the key and its account, hold, settle, record; 64 requests at once, every commit synced to a
 * disk. As the store does it, beside Kysely's own transactions on the same tables with the same pragmas, two a request; and
 * the store on a database that has seen a million requests, beside one that has seen none.
 *
 *   node bench/money-path.ts [folder, default that of temporary files; it must be on a disk]
 */
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addRecords, openAccounts } from './money/accounts.ts';
import { kyselyPath } from './money/kysely-path.ts';
import type { MoneyPath } from './money/request.ts';
import { storePath } from './money/store-path.ts';

const atOnce = 64;
const sliceMs = 1_000;
const rounds = 11;
const accounts = 10_000;
const records = 1_000_000;
const tmpfsType = 0x01021994;

interface Slice {
  readonly perSecond: number;
  readonly p99Ms: number;
}

/** So many clients send one request after another for a while, each with one of the keys. */
async function measure(path: MoneyPath, keys: readonly string[]): Promise<Slice> {
  const times: number[] = [];
  const startedAt = performance.now();
  const client = async (n: number) => {
    for (let turn = n; performance.now() - startedAt < sliceMs; turn += atOnce) {
      const sentAt = performance.now();
      await path.request(keys[turn % keys.length] ?? '');
      times.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, (_, n) => client(n)));
  const seconds = (performance.now() - startedAt) / 1000;
  times.sort((a, b) => a - b);
  return { perSecond: times.length / seconds, p99Ms: times[Math.floor(times.length * 0.99)] ?? Number.NaN };
}

interface Candidate {
  readonly name: string;
  readonly path: MoneyPath;
  readonly keys: readonly string[];
}

/** Lets the candidates take turns, and prints how each compares with the first in its rounds. */
async function compare(candidates: readonly Candidate[]): Promise<void> {
  const results = candidates.map((candidate) => ({ ...candidate, slices: [] as Slice[] }));
  for (const { path, keys } of results) await measure(path, keys);
  for (let round = 0; round < rounds; round++) {
    for (const { path, keys, slices } of results) slices.push(await measure(path, keys));
  }
  printRow('', ['requests/s', 'p99', 'ratio', 'spread']);
  for (const { name, slices } of results) {
    const ratios = slices.map(
      ({ perSecond }, n) => perSecond / (results[0]?.slices[n]?.perSecond ?? Number.NaN),
    );
    printRow(name, [
      median(slices.map(({ perSecond }) => perSecond)).toFixed(0),
      `${median(slices.map(({ p99Ms }) => p99Ms)).toFixed(1)} ms`,
      median(ratios).toFixed(2),
      `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`,
    ]);
  }
  print('');
  for (const path of new Set(candidates.map((candidate) => candidate.path))) await path.close();
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function printRow(name: string, cells: readonly string[]): void {
  print(name.padEnd(46) + cells.map((cell) => cell.padStart(16)).join(''));
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function besideKysely(folder: string): Promise<void> {
  const [one, other] = [join(folder, 'kysely'), join(folder, 'store')];
  const keys = await openAccounts(one, atOnce);
  await openAccounts(other, atOnce);
  await compare([
    { name: 'Kysely, two transactions a request', path: await kyselyPath(one), keys },
    { name: 'the store', path: await storePath(other), keys },
  ]);
}

async function besideEmpty(folder: string): Promise<void> {
  const [empty, wide, full] = [join(folder, 'empty'), join(folder, 'wide'), join(folder, 'full')];
  const few = await openAccounts(empty, atOnce);
  await openAccounts(wide, accounts);
  const all = await openAccounts(full, accounts);
  await addRecords(full, records);
  const path = await storePath(full);
  await compare([
    { name: 'no records, 64 accounts', path: await storePath(empty), keys: few },
    { name: 'no records, 64 of 10,000 accounts', path: await storePath(wide), keys: few },
    { name: '1,000,000 records, 64 of 10,000 accounts', path, keys: few },
    { name: '1,000,000 records, all of 10,000 accounts', path, keys: all },
  ]);
}

const folder = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'parley-bench-'));
try {
  if (statfsSync(folder).type === tmpfsType) print('This folder is in memory, where a sync costs nothing.');
  print(`${atOnce} requests at once, medians of ${rounds} slices of ${sliceMs} ms in turn\n`);
  await besideKysely(folder);
  await besideEmpty(folder);
} finally {
  rmSync(folder, { recursive: true });
}
