/** The part of the app that commands use on a data folder without a server: accounts and keys, backup and restore. */
import type { Config } from '../config/config.ts';
import { AdminOperations } from '../core/admin/service.ts';
import { systemClock } from '../core/ports/clock.ts';
import type { AdminFunctions } from '../core/services.ts';
import { lockDataDir } from '../store/sqlite/data-folder.ts';
import { openStore } from '../store/sqlite/sqlite-store.ts';

export { type BackupFacts, backUp } from '../store/maintenance/backup.ts';
export { restore } from '../store/maintenance/restore.ts';
export { DataInUseError } from '../store/sqlite/data-folder.ts';

export interface AdminApp {
  readonly admin: AdminFunctions;
  close(): Promise<void>;
}

/**
 * Locks the data folder until `close`, and creates it if it is missing.
 * @throws DataInUseError while another process uses the folder
 */
export async function openAdmin({ dataDir, fairUse }: Config): Promise<AdminApp> {
  const lock = lockDataDir(dataDir);
  try {
    const store = await openStore(dataDir);
    const admin = new AdminOperations({ store, clock: systemClock, fairUse });
    return {
      admin,
      close: async () => {
        await store.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}
