/** Locks the data folder of a server and opens its store. */
import type { Config } from '../config/config.ts';
import { Retention } from '../core/billing/retention.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { Log } from '../core/ports/log.ts';
import type { Store } from '../core/ports/store.ts';
import { lockDataDir } from '../store/sqlite/data-folder.ts';
import { openStore as openSqliteStore } from '../store/sqlite/sqlite-store.ts';

interface DataDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Opens the store of a data folder. Default: SQLite. */
  readonly openStore?: ((dataDir: string) => Promise<Store>) | undefined;
}

/**
 * Also releases requests left open by a dead process, and starts to remove old records if the configuration says so.
 *
 * @param opened collects what must be closed, in reverse order
 * @throws DataInUseError if another process has locked the folder
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
  if (interrupted > 0) log.warn({ interrupted }, 'released requests left open by an earlier run');
  if (usageDays !== undefined) {
    const retention = new Retention({ store, clock, log }, usageDays);
    opened.defer(() => retention.close());
  }
  return store;
}
