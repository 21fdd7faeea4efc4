import type { Store } from '../../core/entities/store.ts';
import { nanoCredits } from '../../core/values/money.ts';
import { entityStores } from '../entities/entity-stores.ts';
import { claimKey, claimOutcome } from '../entities/idempotency.ts';
import type { Connection } from './database/connection.ts';
import { Reader } from './database/reader.ts';
import type { WriteHealth } from './database/write-health.ts';
import { Entries } from './entries.ts';
import { SqliteExecutor } from './executor.ts';
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
  const stores = entityStores(new SqliteExecutor({ reader, writer, path: connection.name }), {
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
