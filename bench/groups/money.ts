import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { databaseFaults } from '../../src/store/maintenance/verify.ts';
import { openDatabase } from '../../src/store/sqlite/database/open-database.ts';
import { drive, type Slice, send, takeTurns } from '../harness/drive.ts';
import { compareAll } from '../harness/levels.ts';
import { notesOnDisk } from '../harness/machine.ts';
import { type Comparison, type Group, type Setting, threadsOf } from '../harness/result.ts';
import { addRecords, openAccounts } from '../money/accounts.ts';
import { kyselyPath } from '../money/kysely-path.ts';
import { type MoneyPath, storePath } from '../money/request.ts';

const atOnce = 64;

export const money: Group = {
  name: 'money',
  title: 'The money path',
  method:
    `Find the key and its account, reserve, settle, record: ${atOnce} requests at once, every commit synced to a disk. Parley’s store ` +
    'against Kysely’s own transactions on the same tables, two a request; and the store on a database with half a million ' +
    'requests against an empty one.',
  charts: [
    { name: 'money', question: 'How many durable requests a second does the money path take?' },
    { name: 'money-large', question: 'What does a large database cost the money path?' },
  ],
  async run(setting) {
    const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
    const notes = notesOnDisk();
    try {
      const candidates = await openCandidates(folder, setting);
      await warmUp(candidates, setting);
      const samples = await inTurn(candidates, setting);
      // Two candidates share a store.
      for (const path of new Set(Object.values(candidates).map((each) => each.path))) await path.close();
      for (const { dataDir } of Object.values(candidates)) await checkBooks(dataDir);
      return { comparisons: compareStores(samples), facts: [], threads: threadsOf('money', samples), notes };
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};

interface Candidate {
  readonly dataDir: string;
  readonly path: MoneyPath;
  readonly keys: readonly string[];
}

async function openCandidates(folder: string, { short, say }: Setting) {
  const records = short ? 1_000 : 500_000;
  const many = short ? 100 : 10_000;
  const open = async (
    name: string,
    accounts: number,
    records = 0,
    openPath = storePath,
  ): Promise<Candidate> => {
    say(`${name}: ${accounts} accounts, ${records} records`);
    const dataDir = join(folder, name);
    const keys = await openAccounts(dataDir, accounts);
    if (records > 0) await addRecords(dataDir, records);
    return { dataDir, path: await openPath(dataDir), keys };
  };
  const full = await open('full', many, records);
  return {
    kysely: await open('kysely', atOnce, 0, kyselyPath),
    empty: await open('empty', atOnce),
    few: { ...full, keys: full.keys.slice(0, atOnce) },
    full,
  };
}

type Candidates = Awaited<ReturnType<typeof openCandidates>>;
type Samples = Record<keyof Candidates, Slice[]>;

/** The stores run in this process, so V8 compiles for all of them at once. */
async function warmUp({ kysely, empty, full }: Candidates, { short, say }: Setting): Promise<void> {
  say('warm-up');
  const warm = ({ path, keys }: Candidate, calls: number) =>
    send((n) => path.request(keys[n % keys.length] ?? ''), { atOnce, calls: short ? atOnce : calls });
  await warm(empty, 30_000);
  await warm(full, 30_000);
  await warm(kysely, 4_000);
}

function inTurn(candidates: Candidates, { short, say }: Setting): Promise<Samples> {
  say('requests');
  const load = { atOnce, forMs: short ? 50 : 1_000 };
  const run = ({ path, keys }: Candidate) => {
    return () => drive(process, (n) => path.request(keys[n % keys.length] ?? ''), load);
  };
  const { kysely, empty, few, full } = candidates;
  const contenders = { kysely: run(kysely), empty: run(empty), few: run(few), full: run(full) };
  return takeTurns<Record<keyof Candidates, Slice>>(
    contenders,
    short ? { rounds: 1 } : { rounds: 8, warmUps: 1 },
  );
}

/** Throws where a balance does not match its entries. */
async function checkBooks(dataDir: string): Promise<void> {
  const connection = await openDatabase(dataDir);
  const faults = await databaseFaults(connection);
  connection.close();
  if (faults.length > 0) throw new Error(faults.join(' '));
}

function compareStores({ kysely, empty, few, full }: Samples): Comparison[] {
  const emptyName = 'no records, 64 accounts';
  const store = compareAll(
    { name: 'the store', yardstick: 'Kysely, two transactions' },
    { ours: empty, theirs: kysely },
  );
  const large = (accounts: string, ours: readonly Slice[]) =>
    compareAll({ name: `large database, ${accounts}`, yardstick: emptyName }, { ours, theirs: empty });
  const [fewUsed, allUsed] = [large('64 of 10,000 accounts', few), large('all of 10,000 accounts', full)];
  const chart = (name: string, label: string) => ({ chart: { name, label } });
  return [
    { ...store.throughput, aim: 'moneyByKysely', ...chart('money', 'Parley’s store') },
    { ...fewUsed.throughput, ...chart('money-large', '500,000 records, 64 accounts in use') },
    { ...allUsed.throughput, aim: 'moneyLarge', ...chart('money-large', '500,000 records, 10,000 in use') },
    ...[store, fewUsed, allUsed].flatMap(({ cpu, p99 }) => [cpu, p99]),
  ];
}
