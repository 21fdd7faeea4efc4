/** The checks of `parley doctor` that both databases share: schema, admin keys, newest record. */
import { type Diagnostic, ok, problem, warning } from '../../core/values/diagnostics.ts';
import type { SchemaState } from '../migrations/migrations.ts';

export interface StoreDiagnostics {
  readonly diagnostics: readonly Diagnostic[];
  /** The time of the newest request or audit entry; undefined if there is none. */
  readonly newestRecordMs: number | undefined;
}

/** Returns `value` of the first row of a query. */
type Find = (sql: string) => Promise<bigint | number | undefined>;

const liveAdminKeys = (nowMs: number) => `select count(*) as value from api_keys where kind = 'admin'
  and revoked_at_ms is null and (expires_at_ms is null or expires_at_ms > ${nowMs})`;
/** Ids begin with their time: the last id is the newest. */
const newestRequest = 'select started_at_ms as value from usage_records order by id desc limit 1';
const newestChange = 'select created_at_ms as value from audit_entries order by id desc limit 1';

/** Reads no other tables while the schema has none. */
export async function diagnoseContents(schema: SchemaState, find: Find): Promise<StoreDiagnostics> {
  const diagnostics = [diagnoseSchema(schema)];
  if (schema.applied.length === 0) return { diagnostics, newestRecordMs: undefined };
  diagnostics.push(diagnoseAdminKeys(Number(await find(liveAdminKeys(Date.now())))));
  const times = [await find(newestRequest), await find(newestChange)].filter((time) => time !== undefined);
  return { diagnostics, newestRecordMs: times.length === 0 ? undefined : Math.max(...times.map(Number)) };
}

function diagnoseSchema({ applied, pending, tooNew }: SchemaState): Diagnostic {
  if (tooNew !== undefined) {
    const found = `A newer Parley has changed the database (${tooNew}).`;
    return problem('schema', found, 'Run that version or a newer one.');
  }
  if (pending.length === 0) return ok('schema', `The schema is up to date (${applied.at(-1)}).`);
  const migrate = 'run `parley migrate`, or start a server of this version, which does the same.';
  if (applied.length === 0)
    return warning('schema', 'There are no tables yet.', `To create them, ${migrate}`);
  return warning('schema', `The schema lacks ${pending.join(', ')}.`, `Make a backup, then ${migrate}`);
}

function diagnoseAdminKeys(live: number): Diagnostic {
  if (live > 0) return ok('admin keys', `There ${live === 1 ? 'is one' : `are ${live}`}.`);
  const found = 'There is no valid one, so nobody can manage a running server.';
  return warning('admin keys', found, 'Create one: `parley key create --admin`. The server may run.');
}
