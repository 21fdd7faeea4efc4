import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import { outcomeBefore } from '../../core/books/enter.ts';
import type { LedgerStore } from '../../core/entities/ledger.ts';
import type { Store, StoreObserver } from '../../core/entities/store.ts';
import { nanoCredits } from '../../core/values/money.ts';
import { insertAudit } from '../entities/audit.ts';
import { entityStores } from '../entities/entity-stores.ts';
import { claimKey, claimOutcome } from '../entities/idempotency.ts';
import { addCredits, entryByReference } from '../entities/ledger.ts';
import { checkKnown, migrations, type OnMigration, schemaState } from '../migrations/migrations.ts';
import type { Executor, Queries } from '../sql/executor.ts';
import { step } from '../sql/job.ts';
import { statement } from '../sql/statement.ts';
import { type Connection, databaseName, prepareToRead } from './database/connection.ts';
import { damaged, isDamage } from './database/damage.ts';
import { OpenFiles, privateFile } from './database/data-folder.ts';
import { type DatabaseUse, openDatabase } from './database/open-database.ts';
import { disown } from './database/ownership.ts';
import { queriesOf, Reader } from './database/reader.ts';
import { DatabaseMovedError, forCaller, unusable } from './database/storage-failures.ts';
import { WriteHealth } from './database/write-health.ts';
import { KeyCache } from './key-cache.ts';
import { Numbers } from './requests/numbers.ts';
import { ReadSet } from './requests/read-set.ts';
import { Requests } from './requests/requests.ts';
import { Rows } from './requests/rows.ts';
import { BatchRunner } from './writer/batch-runner.ts';
import { type BatchExecutor, Writer, WriterThread } from './writer/writer.ts';

export interface StoreOptions extends DatabaseUse {
  /** Where writes run: on a separate thread, as a server needs, or on the calling thread. Default: thread */
  readonly writes?: 'thread' | 'here';
  /** Default: none. */
  readonly observer?: StoreObserver | undefined;
}

const nobody: StoreObserver = { failing: () => undefined, working: () => undefined, lost: () => undefined };

/** How long a write on the calling thread waits for another program. */
const busyMsMax = 5_000;

/** The marks of ownership: see `ownership.ts`. */
const own = statement((_: object) => mark(1));
const markUnowned = statement((_: object) => mark(0));

function mark(value: 0 | 1) {
  return sql<object>`pragma user_version = ${sql.lit(value)}`;
}

/** Opens the store of a data folder, and creates it if it is missing. @throws as `openDatabase` */
export async function openStore(
  dataDir: string,
  { observer = nobody, writes = 'thread', ...use }: StoreOptions = {},
): Promise<Store> {
  const path = privateFile(dataDir, databaseName);
  const files = new OpenFiles();
  files.add(path);
  const connection = await openDatabase(dataDir, use);
  files.add(`${path}-wal`);
  if (!files.areInPlace()) {
    // A restore has replaced the files meanwhile.
    connection.close();
    throw new DatabaseMovedError();
  }
  const health: WriteHealth = new WriteHealth({
    files,
    observer,
    probe: () => writer.run({ steps: [step(own, {})] }),
  });
  const writer = new Writer(executorFor({ connection, files, observer, writes }), health);
  const close = async () => {
    health.close();
    // Without the mark the next owner can start beside readers. If the mark cannot be removed, it must wait for them.
    if (use.as !== 'guest') await writer.run({ steps: [step(markUnowned, {})] }).catch(() => undefined);
    await writer.close();
    connection.close();
  };
  return sqliteStore({ connection, writer, health, close });
}

interface Opened extends Required<Pick<StoreOptions, 'writes'>> {
  readonly connection: Connection;
  readonly files: OpenFiles;
  readonly observer: StoreObserver;
}

function executorFor({ connection, files, observer, writes }: Opened): BatchExecutor {
  if (writes === 'here') {
    connection.pragma(`busy_timeout = ${busyMsMax}`);
    const batches = new BatchRunner(connection, files);
    // The owner of the connection closes it.
    return { run: async (batch) => batches.run(batch), close: async () => undefined };
  }
  prepareToRead(connection);
  const settings = { path: connection.name, files: files.ids };
  return new WriterThread(settings, (error) =>
    observer.lost('The writer thread of the database has ended.', error),
  );
}

/** The migrations that the next start applies to the database of a data folder. @throws StoreError */
export function pendingMigrations(dataDir: string): string[] {
  const path = join(dataDir, databaseName);
  if (!existsSync(path)) return Object.keys(migrations);
  const connection = new Sqlite(path, { readonly: true, fileMustExist: true });
  try {
    checkKnown(connection);
    return [...schemaState(connection).pending];
  } catch (error) {
    throw isDamage(error) ? damaged(path, error.message) : error;
  } finally {
    connection.close();
  }
}

/**
 * Applies pending migrations, and returns their names. Creates the folder and the database if they are missing.
 * @throws DataInUseError; StoreError
 */
export async function migrateFolder(dataDir: string, onMigration?: OnMigration): Promise<string[]> {
  const pending = pendingMigrations(dataDir);
  const connection = await openDatabase(dataDir, { onMigration });
  disown(connection);
  connection.close();
  return pending;
}

interface SqliteStoreDeps {
  /** A connection for reads. The writer has another. */
  readonly connection: Connection;
  readonly writer: Writer;
  readonly health: WriteHealth;
  /** Releases everything except the connection. */
  readonly close: () => Promise<void>;
}

/** Every operation of the store, on one SQLite database. */
export function sqliteStore({ connection, writer, health, close }: SqliteStoreDeps): Store {
  const reader = new Reader(connection);
  const keyCache = new KeyCache(reader);
  const readSet = new ReadSet(reader);
  const rows = new Rows(new Numbers(reader));
  const requests = new Requests({ reader, writer, health, readSet, rows });
  const executor: Executor = {
    ...queriesOf(reader),
    run: (job) => writer.run(job),
    readSnapshot: (read) => readSnapshot(connection.name, read),
  };
  const stores = entityStores(executor, {
    findKey: (hash) => keyCache.find(hash),
    policyChanged: () => keyCache.expire(),
    credits: {
      available: async (id) => nanoCredits(readSet.available(id)),
      enter: entering(reader, readSet, writer, rows),
    },
    claim: async (claim) => claimOutcome(claim, await writer.run({ steps: claimKey(claim) })),
    // The balance is that of the database, like records and entries. The database has only the holds of started
    // records; holds in memory include that of a debit until its write is acknowledged.
    withCredits(account) {
      const held = readSet.held(account.id) ?? account.held;
      return { ...account, held: held > account.balance ? account.balance : nanoCredits(held) };
    },
  });
  return {
    ...stores,
    requests,
    nodes: { list: async () => [] },
    async close() {
      requests.close();
      await close();
    },
  };
}

/**
 * Reads the state of one moment. Later writes are neither seen nor blocked.
 * @param path of the database, opened on another connection
 * @throws `overloaded` if the database cannot be read
 */
async function readSnapshot<T>(path: string, read: (snapshot: Queries) => Promise<T>): Promise<T> {
  const connection = open(path);
  try {
    connection.defaultSafeIntegers(true);
    connection.exec('begin');
    return await read(queriesOf(new Reader(connection)));
  } catch (error) {
    throw forCaller(error);
  } finally {
    connection.close();
  }
}

/** The driver reports a missing folder by another error. */
function open(path: string): Sqlite.Database {
  try {
    return new Sqlite(path, { readonly: true, fileMustExist: true });
  } catch (error) {
    throw unusable(error);
  }
}

/** Enters loads and adjustments, one after the other, so that each sees earlier references. */
function entering(reader: Reader, readSet: ReadSet, writer: Writer, rows: Rows): LedgerStore['enter'] {
  const enter: LedgerStore['enter'] = async (entry, audit) => {
    const { accountId, amount } = entry;
    const funds = readSet.funds(accountId);
    const outcome = outcomeBefore(funds, entry, reader.get(entryByReference, entry));
    if (outcome) return outcome;
    // An amount that is taken is held until its entry is durable. An amount that is given is available afterwards.
    const hold = amount < 0n ? -amount : 0n;
    const inUse = { accountId, hold, counted: [] };
    readSet.use(inUse);
    funds.held += hold;
    try {
      const additions = [addCredits(accountId, amount, 0n)];
      await writer.run({ steps: [...rows.insertEntry(entry), insertAudit(audit)], additions });
      funds.balance += amount;
    } finally {
      funds.held -= hold;
      readSet.release(inUse);
    }
    return 'entered';
  };
  let last: Promise<unknown> = Promise.resolve();
  return (entry, audit) => {
    const outcome = last.then(() => enter(entry, audit));
    // A failed one has rejected to its own caller.
    last = outcome.catch(() => undefined);
    return outcome;
  };
}
