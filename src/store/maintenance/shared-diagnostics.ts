/** The checks of `parley doctor` that both databases share: schema, admin keys, newest record. */
import { type Diagnostic, ok, problem, warning } from '../../core/values/diagnostics.ts';
import { liveAdminKeys } from '../entities/keys.ts';
import { lastBefore, type SchemaState } from '../migrations/migrations.ts';
import type { Queries } from '../sql/executor.ts';
import { query, statement } from '../sql/statement.ts';

export interface StoreDiagnostics {
  readonly diagnostics: readonly Diagnostic[];
  /** The time of the newest request or audit entry; undefined if there is none. */
  readonly newestRecordMs: number | undefined;
}

/** Ids begin with their time: the last id is the newest. */
const newestRequest = statement((_: object, dialect) =>
  query.selectFrom('usage_records').select('started_at_ms as at').orderBy(dialect.idOrder, 'desc').limit(1),
).map(({ at }) => Number(at));
const newestChange = statement((_: object) =>
  query.selectFrom('audit_entries').select('created_at_ms as at').orderBy('id', 'desc').limit(1),
).map(({ at }) => Number(at));

/**
 * Without a schema there are no other tables to read.
 * @param snapshot of one moment
 */
export async function diagnoseContents(schema: SchemaState, snapshot: Queries): Promise<StoreDiagnostics> {
  const { get } = snapshot;
  const diagnostics = [diagnoseSchema(schema)];
  if (schema.applied.length === 0) return { diagnostics, newestRecordMs: undefined };
  diagnostics.push(diagnoseAdminKeys((await get(liveAdminKeys, { atMs: Date.now() })) ?? 0));
  // An earlier schema may lack the column that sorts requests.
  const request = schema.pending.length === 0 ? await get(newestRequest, {}) : undefined;
  const times = [request, await get(newestChange, {})];
  const known = times.filter((time) => time !== undefined);
  return { diagnostics, newestRecordMs: known.length === 0 ? undefined : Math.max(...known) };
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
