import type { Queries } from '../../sql/executor.ts';
import type { Statement } from '../../sql/statement.ts';
import type { Connection } from './connection.ts';
import { reading } from './storage-failures.ts';

interface Prepared {
  get(...values: unknown[]): unknown;
  all(...values: unknown[]): unknown[];
}

/** Runs queries on a connection, and keeps their prepared statements. @throws `overloaded` if the database cannot be read */
export class Reader {
  readonly #connection: Connection;
  readonly #prepared = new Map<unknown, Prepared>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get<Parameters extends object, Value>(
    query: Statement<Parameters, Value>,
    parameters: Parameters,
  ): Value | undefined {
    const row = reading(() => this.#prepare(query).get(...query.bind(parameters)));
    return row === undefined ? undefined : query.toValue(row as never);
  }

  all<Parameters extends object, Value>(
    query: Statement<Parameters, Value>,
    parameters: Parameters,
  ): Value[] {
    const rows = reading(() => this.#prepare(query).all(...query.bind(parameters)));
    return rows.map((row) => query.toValue(row as never));
  }

  #prepare(query: Statement<never, unknown>): Prepared {
    let prepared = this.#prepared.get(query);
    if (prepared === undefined) {
      prepared = this.#connection.prepare(query.sql);
      this.#prepared.set(query, prepared);
    }
    return prepared;
  }
}

/** The queries of a reader, as promises. */
export function queriesOf(reader: Reader): Queries {
  return {
    get: async (statement, parameters) => reader.get(statement, parameters),
    all: async (statement, parameters) => reader.all(statement, parameters),
  };
}
