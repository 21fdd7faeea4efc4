/** Opens the store of a server. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { Retention } from '../core/billing/retention.ts';
import type { Store, StoreObserver } from '../core/entities/store.ts';
import type { Clock } from '../core/values/clock.ts';
import type { Diagnostic } from '../core/values/diagnostics.ts';
import type { Log } from '../core/values/log.ts';
import { makeFolder } from '../files/make-folder.ts';
import { diagnoseLog } from '../store/maintenance/diagnostics.ts';
import { databaseName } from '../store/sqlite/database/connection.ts';
import { privateFile } from '../store/sqlite/database/data-folder.ts';
import { openStore as openSqliteStore } from '../store/sqlite/open-store.ts';
import { privacy } from './diagnostics/machine.ts';
import { version } from './version.ts';

interface DataDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly observer: StoreObserver;
  readonly openStore?: OpenStore | undefined;
}

/** Opens the store of a data folder, instead of the configured one. */
export type OpenStore = (
  dataDir: string,
  options: { readonly observer: StoreObserver; readonly waitMs: number },
) => Promise<Store>;

/** How long to wait for the folder, which a command or a closing server may own for a moment. */
const waitMs = 2_000;

/**
 * Also releases requests left open by a dead process, and starts to remove old records if configured.
 * @param opened collects resources to close, in reverse order
 * @throws DataInUseError if another process owns the database
 */
export async function openData(
  config: Config,
  { clock, log, observer, openStore }: DataDeps,
  opened: AsyncDisposableStack,
): Promise<Store> {
  const options = { observer, waitMs };
  const store = openStore
    ? await openStore(config.dataDir, options)
    : await openConfigured(config, { clock, log }, options);
  opened.defer(() => store.close());
  const interrupted = await store.requests.recover(clock.now());
  if (interrupted > 0) log.warn({ interrupted }, 'released requests left open by an earlier run');
  const retention = new Retention({ usage: store.usage, audit: store.audit, clock, log }, config.retention);
  opened.defer(() => retention.close());
  return store;
}

async function openConfigured(
  { dataDir, store: { kind, connectionsMax }, storeUrl }: Config,
  { clock, log }: Pick<DataDeps, 'clock' | 'log'>,
  { observer, waitMs }: Parameters<OpenStore>[1],
): Promise<Store> {
  const warn = (findings: readonly Diagnostic[]) => {
    for (const { state, found, advice } of findings) if (state !== 'ok') log.warn({ advice }, found);
  };
  if (kind === 'sqlite') {
    if (existsSync(dataDir)) warn([privacy(dataDir)]);
    if (existsSync(join(dataDir, databaseName))) warn(diagnoseLog(privateFile(dataDir, databaseName)));
    return openSqliteStore(dataDir, { observer, waitMs });
  }
  if (storeUrl === undefined) throw new Error('there is no URL of the database');
  // The folder has the server's address and the keys of its first start.
  makeFolder(dataDir, 0o700);
  warn([privacy(dataDir)]);
  // Loaded only here, as most servers need no PostgreSQL driver.
  const { openPostgresStore } = await import('../store/postgres/open-store.ts');
  const { diagnosePoolerAt } = await import('../store/postgres/diagnostics-pooler.ts');
  const url = storeUrl.reveal();
  const now = () => clock.now();
  const store = await openPostgresStore({ url, connectionsMax, observer, version, now });
  warn(await diagnosePoolerAt(url));
  return store;
}
