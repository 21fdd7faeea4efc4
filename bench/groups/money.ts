import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { databaseFaults } from '../../src/store/maintenance/verify.ts';
import { openDatabase } from '../../src/store/sqlite/database.ts';
import { drive, type Metered, type Slice } from '../harness/drive.ts';
import type { Group, Setting } from '../harness/group.ts';
import type { Comparison } from '../harness/result.ts';
import { takeTurns } from '../harness/take-turns.ts';
import { addRecords, openAccounts } from '../money/accounts.ts';
import { kyselyPath } from '../money/kysely-path.ts';
import type { MoneyPath } from '../money/request.ts';
import { storePath } from '../money/store-path.ts';

const atOnce = 64;
const tmpfsType = 0x01021994;

export const money: Group = {
  name: 'money',
  title: 'The money path',
  method:
    `Find the key and its account, hold, settle, record: ${atOnce} requests at once, every commit synced to a disk. The store of Parley ` +
    'against Kysely’s own transactions on the same tables, two a request; and the store on a database that has seen half a ' +
    'million requests against one that has seen none.',
  async run(setting) {
    const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
    const notes =
      statfsSync(folder).type === tmpfsType
        ? [
            'The folder of temporary files is in memory, where a sync costs nothing: set TMPDIR to one on a disk.',
          ]
        : [];
    try {
      const candidates = await openCandidates(folder, setting);
      const samples = await inTurn(candidates, setting);
      for (const { path } of Object.values(candidates)) await path.close();
      for (const { dataDir } of Object.values(candidates)) await checkBooks(dataDir);
      return { comparisons: compare(samples), facts: [], notes };
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

/** All is in this process, which is therefore what is metered. */
const thisProcess: Metered = {
  async cpuMs() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
};

function inTurn(candidates: Candidates, { short, say }: Setting): Promise<Samples> {
  say('requests');
  const load = { atOnce, forMs: short ? 50 : 1_000 };
  const run =
    ({ path, keys }: Candidate) =>
    () =>
      drive(thisProcess, (n) => path.request(keys[n % keys.length] ?? ''), load);
  const contenders = {
    kysely: run(candidates.kysely),
    empty: run(candidates.empty),
    few: run(candidates.few),
    full: run(candidates.full),
  };
  return takeTurns<Record<keyof Candidates, Slice>>(contenders, {
    rounds: short ? 1 : 7,
    warmUps: short ? 0 : 1,
  });
}

/** No credit may be lost, however fast it goes. */
async function checkBooks(dataDir: string): Promise<void> {
  const connection = await openDatabase(dataDir);
  const faults = await databaseFaults(connection);
  connection.close();
  if (faults.length > 0) throw new Error(faults.join(' '));
}

function compare({ kysely, empty, few, full }: Samples): Comparison[] {
  const kyselyName = 'Kysely, two transactions';
  const emptyName = 'no records, 64 accounts';
  const pairs = [
    { name: 'the store', yardstick: kyselyName, ours: empty, theirs: kysely },
    { name: 'large database, 64 of 10,000 accounts', yardstick: emptyName, ours: few, theirs: empty },
    { name: 'large database, all of 10,000 accounts', yardstick: emptyName, ours: full, theirs: empty },
  ];
  const by = (unit: string, pick: (slice: Slice) => number, isCharted = true) =>
    pairs.map(({ name, yardstick, ours, theirs }) => ({
      ...{ name, yardstick, unit, isCharted },
      ours: ours.map(pick),
      theirs: theirs.map(pick),
    }));
  return [
    ...by('µs CPU a request', ({ cpuUsPerCall }) => cpuUsPerCall),
    ...by('requests/s', ({ perSecond }) => perSecond),
    ...by('ms p99', ({ p99Ms }) => p99Ms, false),
  ];
}
