/** Checks a PostgreSQL database for `parley doctor`, without writing to it. */
import type { Client } from 'pg';
import { type Diagnostic, ok, problem, warning } from '../../core/values/diagnostics.ts';
import { diagnoseContents, type StoreDiagnostics } from '../maintenance/shared-diagnostics.ts';
import { newClient } from './database/connection.ts';
import { queriesBy } from './database/executor.ts';
import { DatabaseUnusableError } from './database/storage-failures.ts';
import { diagnosePooler } from './diagnostics-pooler.ts';
import { diagnoseSettings } from './diagnostics-settings.ts';
import { schemaState } from './migrate.ts';

interface PostgresDiagnosis {
  readonly url: string;
  /** Setting `connectionsMax` of each server. */
  readonly connectionsMax: number;
  /** Default: the time of this machine. */
  readonly now?: () => number;
}

const name = 'parley doctor';
const oldestVersion = 150_000;
/** A request with credits needs up to two round trips for each of its two groups. */
const slowMs = 20;
const probes = 5;
/** Clocks that differ by more shift expiry dates and months. */
const skewMsMax = 1_000;

export async function diagnosePostgres(diagnosis: PostgresDiagnosis): Promise<StoreDiagnostics> {
  const { url } = diagnosis;
  const client = newClient({ url, name });
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    const found = new DatabaseUnusableError(url, error).message;
    return { diagnostics: [unreachable(found)], newestRecordMs: undefined };
  }
  try {
    const schema = await schemaState(client);
    const queries = queriesBy(({ text, values = [] }) => client.query(text, [...values]));
    await client.query('begin isolation level repeatable read read only');
    const contents = await diagnoseContents(schema, queries);
    await client.query('commit');
    const diagnostics = [
      await diagnoseServer(client),
      ...(await diagnoseSettings(client)),
      await diagnosePooler(client, url),
      await diagnoseConnections(client, diagnosis),
      await diagnoseDistance(client),
      await diagnoseSkew(client, diagnosis),
      ...contents.diagnostics,
    ];
    if (schema.pending.length === 0) diagnostics.push(await diagnoseNodes(client));
    return { diagnostics, newestRecordMs: contents.newestRecordMs };
  } finally {
    await client.end();
  }
}

/** The advice follows the sentence. */
function unreachable(message: string): Diagnostic {
  const [found = message, advice = 'Start it.'] = message.split(/(?<=\)\.) /);
  return problem('database', found, advice);
}

/** Databases that speak the protocol of PostgreSQL, by their version text. */
const relatives: Readonly<Record<string, RegExp>> = { CockroachDB: /CockroachDB/, YugabyteDB: /-YB-/ };

async function diagnoseServer(client: Client): Promise<Diagnostic> {
  const { version, number, recovering } = await one<{ version: string; number: number; recovering: boolean }>(
    client,
    `select version(), current_setting('server_version_num')::int4 as number, pg_is_in_recovery() as recovering`,
  );
  const relative = Object.entries(relatives).find(([, pattern]) => pattern.test(version));
  if (relative) {
    const advice = 'See docs/grow.md for its limits, or use PostgreSQL 15 or newer.';
    return problem('database', `The database is ${relative[0]}, on which Parley was never tested.`, advice);
  }
  const found = `The version is ${version.split(' on ')[0]}.`;
  if (number < oldestVersion) return problem('database', found, 'Use PostgreSQL 15 or newer.');
  if (!recovering) return ok('database', found);
  return problem(
    'database',
    'It is a standby, which cannot be written.',
    'The database is a standby, which is read-only.',
  );
}

async function diagnoseConnections(
  client: Client,
  { connectionsMax }: PostgresDiagnosis,
): Promise<Diagnostic> {
  const { free, role, database } = await one<Record<'free' | 'role' | 'database', number>>(
    client,
    `select current_setting('max_connections')::int4 - current_setting('superuser_reserved_connections')::int4 as free,
      (select rolconnlimit from pg_roles where rolname = current_user) as role,
      (select datconnlimit from pg_database where datname = current_database()) as database`,
  );
  const limits = [free, role, database].filter((limit: number) => limit >= 0);
  const limit = Math.min(...limits);
  // Heartbeats have a separate connection.
  const each = connectionsMax + 1;
  const servers = Math.floor(limit / each);
  const found = `The database accepts ${limit} connections: ${servers} ${servers === 1 ? 'server' : 'servers'} with ${each} each (one more than \`store.connectionsMax\`).`;
  if (servers >= 2) return ok('connections', found);
  const advice =
    'Lower `store.connectionsMax`, raise `max_connections`, or put PgBouncer before the database.';
  return warning('connections', found, advice);
}

/** The shortest of some round trips. */
async function diagnoseDistance(client: Client): Promise<Diagnostic> {
  let shortestMs = Number.POSITIVE_INFINITY;
  for (let probe = 0; probe < probes; probe++) {
    const sinceMs = performance.now();
    await client.query('select 1');
    shortestMs = Math.min(shortestMs, performance.now() - sinceMs);
  }
  const found = `The database answers in ${shortestMs.toFixed(1)} ms.`;
  if (shortestMs <= slowMs) return ok('distance', found);
  return warning(
    'distance',
    found,
    'Run Parley nearer to the database: a request waits for it about four times.',
  );
}

async function diagnoseSkew(
  client: Client,
  { now: ownNow = Date.now }: PostgresDiagnosis,
): Promise<Diagnostic> {
  const beforeMs = ownNow();
  const { now } = await one<{ now: number }>(
    client,
    `select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`,
  );
  const afterMs = ownNow();
  const skewMs = Math.max(now - afterMs, beforeMs - now, 0);
  const found = `The clocks of the database and of this machine differ by ${Math.ceil(skewMs)} ms.`;
  if (skewMs <= skewMsMax) return ok('clocks', found);
  const advice = 'Let both follow a time server: keys, plans and months use the clock of each machine.';
  return problem('clocks', found, advice);
}

async function diagnoseNodes(client: Client): Promise<Diagnostic> {
  const { rows } = await client.query(
    `select version, count(*)::int4 as count from nodes where not dead and lease_until > clock_timestamp()
      group by version order by version`,
  );
  const nodes = rows.map(({ version, count }) => `${count} of version ${version || 'unknown'}`);
  return ok('servers', nodes.length === 0 ? 'No server is running.' : `Running: ${nodes.join(', ')}.`);
}

/** The only row of a query. */
async function one<Row>(client: Client, sql: string): Promise<Row> {
  return (await client.query(sql)).rows[0];
}
