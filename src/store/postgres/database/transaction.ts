import { DatabaseError, type Pool, type PoolClient, type QueryConfig, type QueryResult } from 'pg';
import { isStorageFailure, UnknownOutcomeError } from './storage-failures.ts';

/** A query with the values of its parameters. With a name, each connection prepares it once. */
export interface Query {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

/**
 * Begins a transaction of up to two round trips. If this process stops in the middle, its locks end after a second; one that waits for a lock for
 * two seconds fails. A plan is made once for a connection, maybe while the tables are empty, so it must not read whole tables.
 */
export const beginGuarded = Object.entries({
  idle_in_transaction_session_timeout: '1s',
  lock_timeout: '2s',
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
}).reduce((text, [name, value]) => `${text}; set local ${name} = '${value}'`, 'begin');

/** A transaction on its own connection. Queries of one turn are sent together, without waiting for earlier ones. */
export class Transaction {
  readonly #client: PoolClient;
  readonly #msMax: number;
  /** Results of the queries before the commit. */
  #sent: Promise<unknown>[] = [];

  constructor(client: PoolClient, msMax: number) {
    this.#client = client;
    this.#msMax = msMax;
  }

  /** Sends a query. A failure also fails the commit. */
  query(query: Query): Promise<QueryResult> {
    const { text, name, values = [] } = query;
    const config = { text, ...(name && { name }), values: [...values], query_timeout: this.#msMax };
    const { stream } = this.#client.connection;
    if (stream.writableCorked === 0) {
      stream.cork();
      process.nextTick(() => stream.uncork());
    }
    const result = this.#client.query(config);
    // The commit reports the first failure, even if nobody awaits this promise.
    result.catch(() => undefined);
    this.#sent.push(result);
    return result;
  }

  /** @throws the error of the first query that failed; `UnknownOutcomeError` */
  async commit(): Promise<void> {
    const sent = this.#sent;
    this.#sent = [];
    const committed = this.#client.query({ text: 'commit', query_timeout: this.#msMax } as QueryConfig);
    committed.catch(() => undefined);
    let command: string;
    try {
      await Promise.all(sent);
      ({ command } = await committed);
    } catch (error) {
      // The database reports an error of an earlier query, and then does not commit.
      if (error instanceof DatabaseError && !isStorageFailure(error)) throw error;
      throw new UnknownOutcomeError(error);
    }
    if (command === 'ROLLBACK')
      throw new Error('the database rolled back a transaction instead of committing it');
    if (command !== 'COMMIT')
      throw new UnknownOutcomeError(new Error(`the answer to a commit was ${command}`));
  }
}

/**
 * Waits until no other node does this kind of work, such as pruning, of which only one may run at a time. Ends with the
 * transaction.
 */
export const exclusively: Query = { text: `select pg_advisory_xact_lock(hashtext('parley'))` };

interface TransactionOptions {
  /** The SQL that begins it. Default: read committed */
  readonly begin?: string;
  /** How long a query may take before the connection counts as lost. Default: 30 seconds */
  readonly msMax?: number;
}

const queryMsMax = 30_000;

/**
 * Runs a transaction and commits it. Its first query starts together with `begin`. The connection is closed after a failure.
 * @throws the error of the first query that failed, of `run`, or `UnknownOutcomeError`
 */
export async function transact<T>(
  pool: Pool,
  run: (transaction: Transaction) => Promise<T>,
  { begin = 'begin', msMax = queryMsMax }: TransactionOptions = {},
): Promise<T> {
  const client = await pool.connect();
  let failure: unknown;
  try {
    const transaction = new Transaction(client, msMax);
    transaction.query({ text: begin });
    const result = await run(transaction);
    await transaction.commit();
    return result;
  } catch (error) {
    failure = error ?? new Error('a transaction failed');
    // Ends its locks before it is repeated. Closing the connection also ends them, but a moment later.
    if (error instanceof DatabaseError) await client.query('rollback').catch(() => undefined);
    throw error;
  } finally {
    client.release(failure !== undefined);
  }
}

const divisionByZero = '22012';

/** An expression that ends the transaction, which does not wait for it, unless the condition is true. No other statement of requests divides. */
export const failUnless = (condition: string): string => `1 / (${condition})::int4`;

/** Whether such an expression has ended it. */
export function hasFailedCheck(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === divisionByZero;
}
