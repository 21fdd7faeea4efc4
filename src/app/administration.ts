/** The part of the app that manages accounts and keys, for a data folder on which no server runs. */
import type { Config } from '../config/config.ts';
import { AdminOperations } from '../core/admin/service.ts';
import { systemClock } from '../core/ports/clock.ts';
import type { AdminFunctions } from '../core/services.ts';
import { lockDataDir } from '../store/sqlite/data-folder.ts';
import { openStore } from '../store/sqlite/sqlite-store.ts';

export { DataInUseError } from '../store/sqlite/data-folder.ts';

export interface AdminApp {
  readonly admin: AdminFunctions;
  close(): Promise<void>;
}

/**
 * Takes the data folder, which is made where it is missing, until `close`.
 * @throws DataInUseError where another process has it
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
