/** The data folder of a server: taken for this process, its store open and in order. */
import type { Config } from '../config/config.ts';
import { Retention } from '../core/billing/retention.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { Log } from '../core/ports/log.ts';
import type { Store } from '../core/ports/store.ts';
import { lockDataDir } from '../store/sqlite/data-folder.ts';
import { openStore as openSqliteStore } from '../store/sqlite/sqlite-store.ts';

export interface DataDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Opens the store of a data folder. Default: SQLite. */
  readonly openStore?: ((dataDir: string) => Promise<Store>) | undefined;
}

/**
 * Releases what an earlier process had left open, and removes old records from now on where the configuration says so.
 *
 * @param opened takes whatever is opened, to be closed in the opposite order
 * @throws DataInUseError where another process has the folder
 */
export async function openData(
  { dataDir, retention: { usageDays } }: Config,
  { clock, log, openStore = openSqliteStore }: DataDeps,
  opened: AsyncDisposableStack,
): Promise<Store> {
  const lock = lockDataDir(dataDir);
  opened.defer(() => lock.release());
  const store = await openStore(dataDir);
  opened.defer(() => store.close());
  const interrupted = await store.recover(clock.now());
  if (interrupted > 0) log.warn({ interrupted }, 'released what an earlier run had left open');
  if (usageDays !== undefined) {
    const retention = new Retention({ store, clock, log }, usageDays);
    opened.defer(() => retention.close());
  }
  return store;
}
