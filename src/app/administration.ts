/** The part of the app that commands use on a data folder without a server: accounts and keys, backup and restore. */
import type { Config } from '../config/config.ts';
import { steadyClock } from '../core/access/steady-clock.ts';
import { AdminOperations } from '../core/admin/service.ts';
import { systemClock } from '../core/ports/clock.ts';
import type { AdminFunctions } from '../core/services.ts';
import type { DatabaseUse } from '../store/sqlite/database.ts';
import { openStore } from '../store/sqlite/open-store.ts';

export { type BackupFacts, backUp } from '../store/maintenance/backup.ts';
export { restore } from '../store/maintenance/restore.ts';
export { DataInUseError } from '../store/sqlite/ownership.ts';

export interface AdminApp {
  readonly admin: AdminFunctions;
  close(): Promise<void>;
}

/**
 * Opens the store of a data folder until `close`. Its owner creates it if it is missing; a guest uses it beside the running server.
 * @throws DataInUseError while another process owns the database
 */
export async function openAdmin({ dataDir, fairUse }: Config, use: DatabaseUse = {}): Promise<AdminApp> {
  const store = await openStore(dataDir, { ...use, writes: 'here' });
  const accessClock = await steadyClock(systemClock, store);
  const admin = new AdminOperations({ store, clock: systemClock, accessClock, fairUse });
  return { admin, close: () => store.close() };
}
