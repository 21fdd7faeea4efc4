/** Queries with named parameters. Kysely compiles each once; readers and the writer prepare the same text. */
import {
  type Compilable,
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { Database } from './tables/schema.ts';

/** Builds queries. It has no connection: it only compiles. */
export const query = new Kysely<Database>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

/** A parameter while a query is compiled. */
class Placeholder {
  readonly name: PropertyKey;

  constructor(name: PropertyKey) {
    this.name = name;
  }
}

interface Compiled {
  readonly sql: string;
  /** A placeholder for each parameter, or a constant. */
  readonly slots: readonly unknown[];
}

export class Statement<Parameters extends object = object, Row = unknown> {
  readonly #build: (parameters: Parameters) => Compilable<Row>;
  #compiled: Compiled | undefined;

  constructor(build: (parameters: Parameters) => Compilable<Row>) {
    this.#build = build;
  }

  get sql(): string {
    return this.#compile().sql;
  }

  /** The values of the parameters, in the order of the text. A missing one is null. */
  bind(parameters: Parameters): unknown[] {
    return this.#compile().slots.map((slot) =>
      slot instanceof Placeholder ? (Reflect.get(parameters, slot.name) ?? null) : slot,
    );
  }

  /** The builder gets a placeholder for each parameter. */
  #compile(): Compiled {
    if (this.#compiled === undefined) {
      const placeholders = new Proxy({}, { get: (_, name) => new Placeholder(name) }) as Parameters;
      const { sql, parameters: slots } = this.#build(placeholders).compile();
      this.#compiled = { sql, slots };
    }
    return this.#compiled;
  }
}

/** Declares a query. It is compiled at its first use. */
export function statement<Parameters extends object, Row>(
  build: (parameters: Parameters) => Compilable<Row>,
): Statement<Parameters, Row> {
  return new Statement(build);
}

/** The parameters that are named like these columns, to insert or set them. */
export function columnsOf<Row extends object, Column extends keyof Row>(
  parameters: Row,
  columns: readonly Column[],
): Pick<Row, Column> {
  const pairs = columns.map((column) => [column, parameters[column]]);
  return Object.fromEntries(pairs);
}
