/** The part of the app that migrates and copies databases. */
import type { Config } from '../config/config.ts';
import type { Side, TableFacts } from '../store/copy/copy-store.ts';
import { type CopyOptions, copyStore } from '../store/copy/copy-store.ts';
import { openPostgresSide } from '../store/copy/postgres-side.ts';
import { openSqliteSide } from '../store/copy/sqlite-side.ts';
import { firstRecordMs } from '../store/entities/usage-steps.ts';
import type { OnMigration } from '../store/migrations/migrations.ts';
import { migrateUrl } from '../store/postgres/migrate.ts';
import { migrateFolder, pendingMigrations } from '../store/sqlite/open-store.ts';

export type { CopyProgress, TableFacts } from '../store/copy/copy-store.ts';

export type StoreKind = Config['store']['kind'];

export interface Copied {
  /** The names of the databases. */
  readonly from: string;
  readonly to: string;
  readonly tables: readonly TableFacts[];
}

/**
 * Copies the database of the data folder to the configured PostgreSQL database, or back.
 * @param to the kind of the target database, which must be empty
 * @throws DataInUseError; StoreError
 */
export async function copyConfiguredStore(
  { dataDir, storeUrl }: Config,
  to: StoreKind,
  options: CopyOptions,
): Promise<Copied> {
  if (storeUrl === undefined) throw new Error('there is no URL of the database');
  const url = storeUrl.reveal();
  await using opened = new AsyncDisposableStack();
  const open = async (opening: Promise<Side>): Promise<Side> => {
    const side = await opening;
    opened.defer(() => side.close());
    return side;
  };
  const isBack = to === 'sqlite';
  const source = await open(isBack ? openPostgresSide(url) : openSqliteSide(dataDir, false));
  const target = await open(
    isBack ? openSqliteSide(dataDir, true) : openPostgresSide(url, await source.get(firstRecordMs, {})),
  );
  const tables = await copyStore(source, target, options);
  return { from: source.name, to: target.name, tables };
}

/**
 * Migrates the configured database to this program's schema. Returns the names of the applied migrations.
 * @param isDry returns the pending migrations without applying them
 * @throws DataInUseError if a server uses the data folder; StoreError
 */
export async function migrateConfiguredStore(
  { dataDir, store, storeUrl }: Config,
  isDry: boolean,
  onMigration: OnMigration,
): Promise<readonly string[]> {
  if (store.kind === 'sqlite')
    return isDry ? pendingMigrations(dataDir) : migrateFolder(dataDir, onMigration);
  if (storeUrl === undefined) throw new Error('there is no URL of the database');
  return migrateUrl(storeUrl.reveal(), isDry, onMigration);
}
