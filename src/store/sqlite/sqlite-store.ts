import Sqlite from 'better-sqlite3';
import { outcomeBefore } from '../../core/books/enter.ts';
import type { AuditEntry } from '../../core/entities/audit.ts';
import type { EntryOutcome, LedgerEntry } from '../../core/entities/ledger.ts';
import type { Store } from '../../core/entities/store.ts';
import { nanoCredits } from '../../core/values/money.ts';
import { insertAudit } from '../entities/audit.ts';
import { entityStores } from '../entities/entity-stores.ts';
import { claimKey, claimOutcome } from '../entities/idempotency.ts';
import { addCredits, entryByReference } from '../entities/ledger.ts';
import type { Executor, Queries } from '../sql/executor.ts';
import type { Connection } from './database/connection.ts';
import { queriesOf, Reader } from './database/reader.ts';
import { forCaller, unusable } from './database/storage-failures.ts';
import type { WriteHealth } from './database/write-health.ts';
import { KeyCache } from './key-cache.ts';
import { Numbers } from './requests/numbers.ts';
import { ReadSet } from './requests/read-set.ts';
import { Requests } from './requests/requests.ts';
import { Rows } from './requests/rows.ts';
import type { Writer } from './writer/writer.ts';

export interface SqliteStoreDeps {
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
  const entries = new Entries({ reader, readSet, writer, rows });
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
      enter: (entry, audit) => entries.enter(entry, audit),
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

interface EntriesDeps {
  readonly reader: Reader;
  readonly readSet: ReadSet;
  readonly writer: Writer;
  readonly rows: Rows;
}

/** Loads and adjustments. They are entered one after the other, so that each sees earlier references. */
class Entries {
  readonly #deps: EntriesDeps;
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: EntriesDeps) {
    this.#deps = deps;
  }

  enter(entry: LedgerEntry, audit: AuditEntry): Promise<EntryOutcome> {
    const outcome = this.#last.then(() => this.#enter(entry, audit));
    // A failed one has rejected to its own caller.
    this.#last = outcome.catch(() => undefined);
    return outcome;
  }

  async #enter(entry: LedgerEntry, audit: AuditEntry): Promise<EntryOutcome> {
    const { reader, readSet, writer, rows } = this.#deps;
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
  }
}
