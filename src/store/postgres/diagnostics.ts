/** Checks a PostgreSQL database for `parley doctor`, without writing to it. */
import { type Client, DatabaseError } from 'pg';
import { type Diagnostic, graded, ok, problem, warning } from '../../core/values/diagnostics.ts';
import { diagnoseContents } from '../maintenance/shared-diagnostics.ts';
import { newClient } from './database/connection.ts';
import { queriesBy } from './database/executor.ts';
import { unusableAt } from './database/storage-failures.ts';
import { schemaState } from './migrate.ts';

interface PostgresDiagnosis {
  readonly url: string;
  /** Setting `connectionsMax` of each server. */
  readonly connectionsMax: number;
  /** Default: the time of this machine. */
  readonly now?: () => number;
}

const oldestVersion = 150_000;
/** A request with credits needs up to two round trips for each of its two groups. */
const slowMs = 20;
const probes = 5;
/** Clocks that differ by more shift expiry dates and months. */
const skewMsMax = 1_000;

export function diagnosePostgres(diagnosis: PostgresDiagnosis): Promise<Diagnostic[]> {
  const { url } = diagnosis;
  return connected(url, async (client) => {
    const schema = await schemaState(client);
    const queries = queriesBy(({ text, values = [] }) => client.query(text, [...values]));
    const contents = await diagnoseContents(schema, queries);
    const facts: Facts = (await client.query(readFacts)).rows[0];
    return [
      diagnoseServer(facts),
      diagnoseDurability(facts),
      diagnoseTransactions(facts),
      diagnoseEncoding(facts),
      diagnoseEncryption(facts),
      await diagnosePooler(client, url),
      diagnoseConnections(facts, diagnosis),
      await diagnoseDistance(client),
      await diagnoseSkew(client, diagnosis),
      ...contents,
      ...(schema.pending.length === 0 ? [await diagnoseNodes(client)] : []),
    ];
  });
}

/** Looks for a pooler, for a server that starts. Empty if the check fails. */
export function diagnosePoolerAt(url: string): Promise<Diagnostic[]> {
  return connected(url, async (client) => [await diagnosePooler(client, url)]).catch(() => []);
}

async function connected(url: string, check: (client: Client) => Promise<Diagnostic[]>) {
  const client = newClient({ url, name: 'parley doctor' });
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    const { message } = unusableAt(url, error);
    // The advice follows the sentence.
    const [found = message, advice = 'Start it.'] = message.split(/(?<=\)\.) /);
    return [problem('database', found, advice)];
  }
  return check(client).finally(() => client.end());
}

/** The database describes itself and the connection by these facts. */
interface Facts {
  readonly version: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Limits of connections; below 0 for none. */
  readonly role: number;
  readonly database: number;
  readonly ssl: boolean | null;
  readonly address: string | null;
}

const readFacts = `select version(), (select jsonb_object_agg(name, setting) from pg_settings) as settings,
  (select rolconnlimit from pg_roles where rolname = current_user) as role,
  (select datconnlimit from pg_database where datname = current_database()) as database,
  (select ssl from pg_stat_ssl where pid = pg_backend_pid()) as ssl, host(inet_client_addr()) as address`;

/** CockroachDB states an older version; YugabyteDB has a mark in its own. */
function diagnoseServer({ version, settings }: Facts): Diagnostic {
  const isTested = Number(settings['server_version_num']) >= oldestVersion && !version.includes('-YB-');
  const advice = 'Use PostgreSQL 15 or newer: Parley was never tested on older ones and on relatives.';
  const found = `The version is ${version.split(' on ')[0]}.`;
  return graded(isTested ? 'ok' : 'problem', 'database', found, advice);
}

export function diagnoseDurability({ settings }: Pick<Facts, 'settings'>): Diagnostic {
  const subject = 'durability';
  const names = ['synchronous_commit', 'fsync', 'full_page_writes'].filter(
    (name) => settings[name] === 'off',
  );
  if (names.length === 0) return ok(subject, 'Committed requests survive a crash.');
  const found = `${names.join(' and ')} ${names.length === 1 ? 'is' : 'are'} off: a crash`;
  const advice = `Set ${names.map((name) => `${name} = on`).join(' and ')}`;
  if (names[0] === 'synchronous_commit')
    return problem(subject, `${found} loses answered requests and their debits.`, `${advice}.`);
  const unless =
    'unless the storage of this database keeps committed writes by itself, as on Neon and Aurora.';
  return warning(subject, `${found} of the machine can destroy the database.`, `${advice}, ${unless}`);
}

function diagnoseTransactions({ settings }: Facts): Diagnostic {
  const subject = 'transactions';
  if (settings['transaction_read_only'] === 'on') {
    const advice = 'Name the primary, if this is a standby, or set default_transaction_read_only = off.';
    return problem(subject, 'Transactions are read-only.', advice);
  }
  const level = settings['default_transaction_isolation'];
  if (level === 'read committed') return ok(subject, 'Transactions are read committed.');
  const found = `Transactions are ${level}, so that concurrent requests of an account are repeated.`;
  const advice = "Set default_transaction_isolation = 'read committed' for the user of Parley.";
  return warning(subject, found, advice);
}

function diagnoseEncoding({ settings }: Facts): Diagnostic {
  const name = settings['server_encoding'];
  const advice = 'Create the database with `encoding UTF8`, or some names cannot be stored.';
  return graded(name === 'UTF8' ? 'ok' : 'problem', 'encoding', `Texts are ${name}.`, advice);
}

function diagnoseEncryption({ ssl, address }: Facts): Diagnostic {
  const subject = 'encryption';
  if (ssl) return ok(subject, 'The connection is encrypted.');
  const isLocal = address === null || address === '::1' || address.startsWith('127.');
  if (isLocal) return ok(subject, 'The connection does not leave this machine.');
  const advice = 'Add `?sslmode=verify-full` to the URL, unless nobody else is on that network.';
  return warning(subject, 'The connection is not encrypted.', advice);
}

function diagnoseConnections(
  { settings, role, database }: Facts,
  { connectionsMax }: PostgresDiagnosis,
): Diagnostic {
  const free = Number(settings['max_connections']) - Number(settings['superuser_reserved_connections']);
  const limit = Math.min(...[free, role, database].filter((one) => one >= 0));
  // Heartbeats have a separate connection.
  const each = connectionsMax + 1;
  const servers = Math.floor(limit / each);
  const found = `The database accepts ${limit} connections: ${servers} ${servers === 1 ? 'server' : 'servers'} with ${each} each (one more than \`store.connectionsMax\`).`;
  const advice =
    'Lower `store.connectionsMax`, raise `max_connections`, or put PgBouncer before the database.';
  return graded(servers >= 2 ? 'ok' : 'warning', 'connections', found, advice);
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
  const advice = 'Run Parley nearer to the database: a request waits for it about four times.';
  return graded(shortestMs <= slowMs ? 'ok' : 'warning', 'distance', found, advice);
}

async function diagnoseSkew(client: Client, { now = Date.now }: PostgresDiagnosis): Promise<Diagnostic> {
  const beforeMs = now();
  const { rows } = await client.query('select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms');
  const skewMs = Math.max(rows[0].ms - now(), beforeMs - rows[0].ms, 0);
  const found = `The clocks of the database and of this machine differ by ${Math.ceil(skewMs)} ms.`;
  const advice = 'Let both follow a time server: keys, plans and months use the clock of each machine.';
  return graded(skewMs <= skewMsMax ? 'ok' : 'problem', 'clocks', found, advice);
}

async function diagnoseNodes(client: Client): Promise<Diagnostic> {
  const { rows } = await client.query(
    `select version, count(*)::int4 as count from nodes where not dead and lease_until > clock_timestamp()
      group by version order by version`,
  );
  const nodes = rows.map(({ version, count }) => `${count} of version ${version || 'unknown'}`);
  return ok('servers', nodes.length === 0 ? 'No server is running.' : `Running: ${nodes.join(', ')}.`);
}

const attempts = 3;
/** Prepared once per connection, like Parley's statements of requests. */
const named = { name: 'parley_doctor', text: 'select pg_backend_pid() as pid' };
const missingStatement = '26000';

/**
 * Finds a pooler between this program and the database, and whether it loses prepared statements: one that lends connections for one
 * transaction gives the backend that a client has just used to the next client, and the first gets another.
 */
async function diagnosePooler(client: Client, url: string): Promise<Diagnostic> {
  const { processID } = client as Client & { readonly processID: number | null };
  const { pid } = (await client.query(named)).rows[0];
  if (pid === processID) return ok('pooler', 'There is none before the database.');
  const other = newClient({ url, name: 'parley doctor' });
  await other.connect();
  try {
    for (let attempt = 0; attempt < attempts; attempt++) {
      await other.query('begin');
      await client.query(named);
      await other.query('commit');
    }
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== missingStatement) throw error;
    const found = 'The pooler before the database loses prepared statements.';
    const advice =
      'Use PgBouncer 1.21 or newer with `max_prepared_statements` above 0, or session mode: no request with credits works.';
    return problem('pooler', found, advice);
  } finally {
    await other.end();
  }
  const found =
    'There is a pooler before the database. It keeps prepared statements; notifications do not pass if it is in transaction mode.';
  return ok('pooler', found);
}
