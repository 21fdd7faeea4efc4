import type { Statement } from '../statement.ts';
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

  get<Parameters extends object, Row>(query: Statement<Parameters, Row>, parameters: Parameters) {
    return reading(() => this.#prepare(query).get(...query.bind(parameters)) as Row | undefined);
  }

  all<Parameters extends object, Row>(query: Statement<Parameters, Row>, parameters: Parameters) {
    return reading(() => this.#prepare(query).all(...query.bind(parameters)) as Row[]);
  }

  /** For a query that is built anew each time: its statement is not kept. */
  allOnce<Row>(query: Statement<object, Row>): Row[] {
    return reading(() => this.#connection.prepare<unknown[], Row>(query.sql).all(...query.bind({})));
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
