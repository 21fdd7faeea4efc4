/** The checks of `parley doctor` that both databases share: schema and admin keys. */
import { type Diagnostic, ok, problem, warning } from '../../core/values/diagnostics.ts';
import { liveAdminKeys } from '../entities/keys.ts';
import { lastBefore, type SchemaState } from '../migrations/migrations.ts';
import type { Queries } from '../sql/executor.ts';

/** Without a schema there are no tables to read. */
export async function diagnoseContents(schema: SchemaState, { get }: Queries): Promise<Diagnostic[]> {
  if (schema.applied.length === 0) return [diagnoseSchema(schema)];
  const keys = (await get(liveAdminKeys, { atMs: Date.now() })) ?? 0;
  return [diagnoseSchema(schema), diagnoseAdminKeys(keys)];
}

function diagnoseSchema({ applied, pending, tooNew, tooOld }: SchemaState): Diagnostic {
  if (tooOld !== undefined) {
    const found = `The database is of an early preview (${tooOld}).`;
    return problem('schema', found, `Start Parley of ${lastBefore} on it once, then this version.`);
  }
  if (tooNew !== undefined) {
    const found = `A newer Parley has changed the database (${tooNew}).`;
    return problem('schema', found, 'Run the newer version, or a version after it.');
  }
  if (pending.length === 0) return ok('schema', `The schema is up to date (${applied.at(-1)}).`);
  const migrate = 'run `parley migrate`, or start a server of this version, which does the same.';
  if (applied.length === 0)
    return warning('schema', 'There are no tables yet.', `To create them, ${migrate}`);
  return warning('schema', `The schema lacks ${pending.join(', ')}.`, `Make a backup, then ${migrate}`);
}

function diagnoseAdminKeys(live: number): Diagnostic {
  if (live > 0) return ok('admin keys', `There ${live === 1 ? 'is one' : `are ${live}`}.`);
  const found = 'There is no valid one that may do everything on a running server.';
  return warning('admin keys', found, 'Create one: `parley key create --admin`. The server may run.');
}
