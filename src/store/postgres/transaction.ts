import type { Pool, PoolClient, QueryResult } from 'pg';
import { NotCommittedError, UnknownOutcomeError } from './storage-failures.ts';

/** A query with the values of its parameters. With a name, each connection prepares it once. */
export interface Query {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

/**
 * Begins a transaction of two flights. If this process stops in the middle, its locks end after a second; one that waits for a lock for
 * five seconds fails. A plan is made once for a connection, maybe while the tables are empty, so it must not read whole tables.
 */
export const beginGuarded = Object.entries({
  idle_in_transaction_session_timeout: '1s',
  lock_timeout: '5s',
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
}).reduce((text, [name, value]) => `${text}; set local ${name} = '${value}'`, 'begin');

/** A transaction on a connection of its own. Queries are sent at once, without waiting for those before. */
export class Transaction {
  readonly #client: PoolClient;
  /** Of the queries that nobody has awaited yet. */
  #sent: Promise<unknown>[] = [];

  constructor(client: PoolClient) {
    this.#client = client;
  }

  /** Sends a query. A failure also fails the commit. */
  query(query: Query): Promise<QueryResult> {
    const result = this.#client.query(query as { name?: string; text: string; values?: unknown[] });
    // The commit reports the first failure, even if nobody awaits this one.
    result.catch(() => undefined);
    this.#sent.push(result);
    return result;
  }

  /** @throws the error of the first query that failed; `UnknownOutcomeError` */
  async commit(): Promise<void> {
    const sent = this.#sent;
    this.#sent = [];
    const committed = this.#client.query('commit');
    committed.catch(() => undefined);
    await Promise.all(sent);
    let command: string;
    try {
      ({ command } = await committed);
    } catch (error) {
      throw new UnknownOutcomeError(error);
    }
    if (command !== 'COMMIT') throw new NotCommittedError();
  }
}

/**
 * Runs a transaction and commits it. Its first query starts together with `begin`. The connection is closed after a failure.
 * @param begin how it begins. Default: read committed
 * @throws the error of the first query that failed, of `run`, or `UnknownOutcomeError`
 */
export async function transact<T>(
  pool: Pool,
  run: (transaction: Transaction) => Promise<T>,
  begin = 'begin',
): Promise<T> {
  const client = await pool.connect();
  let failure: unknown;
  try {
    const transaction = new Transaction(client);
    transaction.query({ text: begin });
    const result = await run(transaction);
    await transaction.commit();
    return result;
  } catch (error) {
    failure = error ?? new Error('a transaction failed');
    // Ends its locks before anybody runs it again.
    await client.query('rollback').catch(() => undefined);
    throw error;
  } finally {
    client.release(failure !== undefined);
  }
}
