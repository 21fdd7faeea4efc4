/** Connections to PostgreSQL, and the types of the values that they read. */
import { Client, type ClientConfig, Pool, types } from 'pg';

/** Whole numbers are read as bigints, including sums, which are numeric. */
for (const type of [types.builtins.INT8, types.builtins.NUMERIC]) types.setTypeParser(type, BigInt);

const connectMsMax = 5_000;
/** A query that takes longer has lost its connection. */
const queryMsMax = 30_000;
/** How long an idle connection stays open. */
const idleMsMax = 60_000;

export interface PoolOptions {
  readonly url: string;
  readonly connectionsMax: number;
  /** The name that the database shows for the connection. */
  readonly name: string;
  /** Whether a query may take as long as it needs, such as one that changes a large table. Default: false */
  readonly mayTakeLong?: boolean;
}

type ClientOptions = Omit<PoolOptions, 'connectionsMax'>;

function settings({ url, name, mayTakeLong = false }: ClientOptions): ClientConfig {
  return {
    connectionString: url,
    application_name: name,
    connectionTimeoutMillis: connectMsMax,
    ...(!mayTakeLong && { query_timeout: queryMsMax }),
    keepAlive: true,
  };
}

export function openPool({ connectionsMax, ...options }: PoolOptions): Pool {
  const pool = new Pool({
    ...settings(options),
    // Queries are sent without waiting for earlier answers.
    pipeline: true,
    max: connectionsMax,
    idleTimeoutMillis: idleMsMax,
  });
  // An idle connection broke. The next use opens another, and reports a failure.
  pool.on('error', () => undefined);
  // A connection in use broke, so its queries fail as well.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** A separate connection, not connected yet. */
export function newClient(options: ClientOptions): Client {
  return new Client(settings(options));
}
