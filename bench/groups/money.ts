import { join } from 'node:path';
import { databaseFaults } from '../../src/store/maintenance/books.ts';
import { openDatabase } from '../../src/store/sqlite/database/open-database.ts';
import { drive, type Slice, send, takeTurns } from '../harness/drive.ts';
import { inFolder } from '../harness/folder.ts';
import { compareAll } from '../harness/levels.ts';
import { notesOnDisk } from '../harness/machine.ts';
import { type Comparison, type Fact, type Group, type Setting, threadsOf } from '../harness/result.ts';
import { openAccounts } from '../money/accounts.ts';
import { kyselyPath } from '../money/kysely-path.ts';
import { type MoneyPath, storePath } from '../money/request.ts';

const atOnce = 64;

export const money: Group = {
  name: 'money',
  title: 'The money path',
  method:
    `Find the key and its account, reserve, settle, record: ${atOnce} requests at once, every commit synced to a disk. Parley’s store ` +
    'against Kysely’s own transactions on tables with texts, two a request; and the store on a database with half a million ' +
    'requests against an empty one. The size of a request is what those half a million added to the database.',
  charts: [
    { name: 'money', question: 'How many durable requests a second does the money path take?' },
    { name: 'money-large', question: 'What does a large database cost the money path?' },
  ],
  run: (setting) =>
    inFolder(async (folder) => {
      const notes = notesOnDisk();
      const { candidates, requestBytes } = await openCandidates(folder, setting);
      await warmUp(candidates, setting);
      const samples = await inTurn(candidates, setting);
      for (const { path, dataDir } of Object.values(candidates)) {
        await path.close();
        await checkBooks(dataDir);
      }
      const size: Fact = { name: 'a request with its debit', unit: 'bytes', values: [requestBytes] };
      const facts = [{ ...size, aim: 'requestBytes' as const }];
      return { comparisons: compareStores(samples), facts, threads: threadsOf('money', samples), notes };
    }),
};

interface Prepared {
  readonly dataDir: string;
  readonly keys: readonly string[];
}

interface Candidate extends Prepared {
  readonly path: MoneyPath;
}

async function openCandidates(folder: string, { short, quick, say }: Setting) {
  const many = short ? 100 : 10_000;
  const prepare = async (name: string, accounts: number): Promise<Prepared> => {
    say(`${name}: ${accounts} accounts`);
    const dataDir = join(folder, name);
    return { dataDir, keys: await openAccounts(dataDir, accounts) };
  };
  const open = async (prepared: Prepared, openPath = storePath): Promise<Candidate> => {
    return { ...prepared, path: await openPath(prepared.dataDir) };
  };
  const full = await prepare('full', many);
  const calls = short ? 1_000 : quick ? 100_000 : 500_000;
  say(`full: ${calls} requests`);
  const bytesBefore = await databaseBytes(full.dataDir);
  await fill(await open(full), calls);
  const requestBytes = ((await databaseBytes(full.dataDir)) - bytesBefore) / calls;
  const candidates = {
    kysely: await open(await prepare('kysely', atOnce), kyselyPath),
    empty: await open(await prepare('empty', atOnce)),
    full: await open(full),
  };
  return { candidates, requestBytes };
}

/** Accounts come in an order that is not that of their rows. */
async function fill({ path, keys }: Candidate, calls: number): Promise<void> {
  await send((n) => path.request(keys[(n * 7919) % keys.length] ?? ''), { atOnce: 1_024, calls });
  await path.close();
}

async function databaseBytes(dataDir: string): Promise<number> {
  const connection = await openDatabase(dataDir);
  const { bytes } = connection
    .prepare<[], { bytes: bigint }>(
      'select page_count * page_size as bytes from pragma_page_count, pragma_page_size',
    )
    .get() ?? { bytes: Number.NaN };
  connection.close();
  return Number(bytes);
}

type Candidates = Awaited<ReturnType<typeof openCandidates>>['candidates'];
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
  const { kysely, empty, full } = candidates;
  const contenders = { kysely: run(kysely), empty: run(empty), full: run(full) };
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

function compareStores({ kysely, empty, full }: Samples): Comparison[] {
  const store = compareAll(
    { name: 'the store', yardstick: 'Kysely, two transactions' },
    { ours: empty, theirs: kysely },
  );
  const large = compareAll(
    { name: 'large database, 10,000 accounts in use', yardstick: 'no records, 64 accounts' },
    { ours: full, theirs: empty },
  );
  const chart = (name: string, label: string) => ({ chart: { name, label } });
  return [
    { ...store.throughput, aim: 'moneyByKysely', ...chart('money', 'Parley’s store') },
    { ...large.throughput, aim: 'moneyLarge', ...chart('money-large', '500,000 records, 10,000 in use') },
    ...[store, large].flatMap(({ cpu, p99 }) => [cpu, p99]),
  ];
}
