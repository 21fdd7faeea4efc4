import type { Config } from '../../config/config.ts';
import { diagnoseStore as diagnoseSqlite, type StoreDiagnosis } from '../../store/maintenance/diagnostics.ts';
import type { StoreDiagnostics } from '../../store/maintenance/shared-diagnostics.ts';

/** Checks the configured database. */
export async function diagnoseStore(
  { dataDir, store, storeUrl }: Config,
  diagnosis: StoreDiagnosis,
): Promise<StoreDiagnostics> {
  if (store.kind === 'sqlite') return diagnoseSqlite(dataDir, diagnosis);
  if (storeUrl === undefined) throw new Error('there is no URL of the database');
  const { diagnosePostgres } = await import('../../store/postgres/diagnostics.ts');
  return diagnosePostgres({ url: storeUrl.reveal(), connectionsMax: store.connectionsMax });
}
