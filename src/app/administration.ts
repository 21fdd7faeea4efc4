/** The part of the app for commands that work on a data folder without a server: accounts and keys, backup and restore. */
import type { Config } from '../config/config.ts';
import { steadyClock } from '../core/access/steady-clock.ts';
import { accountsApi } from '../core/accounts/service.ts';
import { alertsApi } from '../core/alerts/service.ts';
import type { Store } from '../core/entities/store.ts';
import type { AdminFunctions } from '../core/services.ts';
import { systemClock } from '../core/values/clock.ts';
import type { DatabaseUse } from '../store/sqlite/database/open-database.ts';
import { openStore } from '../store/sqlite/open-store.ts';
import { alertsWithoutServer, mailSender } from './alerts.ts';

export { type BackupFacts, backUp } from '../store/maintenance/backup.ts';
export { restore } from '../store/maintenance/restore.ts';
export { DataInUseError } from '../store/sqlite/database/ownership.ts';

export interface AdminApp {
  readonly admin: AdminFunctions;
  close(): Promise<void>;
}

/**
 * Opens the configured store until `close`. The owner of a data folder creates a missing database; a guest uses it
 * beside the running server. With PostgreSQL every caller is a guest.
 * @throws DataInUseError while another process owns the database
 */
export async function openAdmin(config: Config, use: DatabaseUse = {}): Promise<AdminApp> {
  const { fairUse, limits } = config;
  const store = await openConfigured(config, use);
  const accessClock = await steadyClock(systemClock, store);
  const clock = systemClock;
  const { keysPerAccountMax } = limits;
  const deps = {
    store,
    clock,
    accessClock,
    fairUse,
    keysPerAccountMax,
    mail: mailSender(config),
    server: undefined,
  };
  const admin = { ...accountsApi(deps), ...alertsApi(alertsWithoutServer(config, deps)) };
  return { admin, close: () => store.close() };
}

async function openConfigured({ dataDir, store, storeUrl }: Config, use: DatabaseUse): Promise<Store> {
  if (store.kind === 'sqlite') return openStore(dataDir, { ...use, writes: 'here' });
  if (storeUrl === undefined) throw new Error('there is no URL of the database');
  const { openPostgresStore } = await import('../store/postgres/open-store.ts');
  return openPostgresStore({ url: storeUrl.reveal(), connectionsMax: 1 });
}
