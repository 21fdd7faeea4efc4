/** Queries with named parameters. Kysely compiles each once per database; readers and writers prepare the same text. */
import { type CompiledQuery, createQueryId, type RootOperationNode } from 'kysely';
import { type Dialect, sqlite } from './dialect.ts';

/** Builds queries that both databases compile. */
export const { query } = sqlite;

/** A parameter while a query is compiled. */
export class Placeholder {
  readonly name: PropertyKey;

  constructor(name: PropertyKey) {
    this.name = name;
  }
}

export interface Compiled {
  readonly sql: string;
  /** A placeholder for each parameter, or a constant. */
  readonly slots: readonly unknown[];
  /** The name of the table that is read first; undefined for a write. */
  readonly table: string | undefined;
}

/** A query, or raw SQL, of one of Kysely's builders. */
export interface Buildable<Row> {
  compile(...parameters: never): CompiledQuery<Row>;
  toOperationNode(): RootOperationNode;
}

type Build<Parameters> = (parameters: Parameters, dialect: Dialect) => Buildable<unknown>;

export class Statement<Parameters extends object = object, Value = unknown> {
  readonly #build: Build<Parameters>;
  readonly #compiled = new Map<Dialect, Compiled>();
  /** Makes the value of a row. */
  readonly toValue: (row: never) => Value;

  constructor(build: Build<Parameters>, toValue: (row: never) => Value) {
    this.#build = build;
    this.toValue = toValue;
  }

  get sql(): string {
    return this.compiledFor(sqlite).sql;
  }

  /**
   * Appends the values of the parameters for SQLite, in the order of the text. A missing value is null.
   * @param parameters by their names, or their values in order
   * @returns `values`
   */
  bind(parameters: Parameters | readonly unknown[], values: unknown[] = []): unknown[] {
    if (Array.isArray(parameters)) {
      for (const value of parameters) values.push(value);
      return values;
    }
    // Appending makes arrays without holes, which are copied to another thread in half the time.
    for (const slot of this.compiledFor(sqlite).slots) {
      values.push(
        slot instanceof Placeholder
          ? ((parameters as Parameters)[slot.name as keyof Parameters] ?? null)
          : slot,
      );
    }
    return values;
  }

  /** The same query, with rows converted to values. */
  map<Mapped>(toMapped: (value: Value) => Mapped): Statement<Parameters, Mapped> {
    return new Statement(this.#build, (row: never) => toMapped(this.toValue(row)));
  }

  /** The builder gets a placeholder for each parameter. */
  compiledFor(dialect: Dialect): Compiled {
    let compiled = this.#compiled.get(dialect);
    if (compiled === undefined) {
      const placeholders = new Proxy({}, { get: (_, name) => new Placeholder(name) }) as Parameters;
      const node = this.#build(placeholders, dialect).toOperationNode();
      const { sql, parameters: slots } = dialect.query.getExecutor().compileQuery(node, createQueryId());
      compiled = { sql, slots, table: tableOf(node) };
      this.#compiled.set(dialect, compiled);
    }
    return compiled;
  }
}

function tableOf(node: RootOperationNode): string | undefined {
  if (node.kind !== 'SelectQueryNode') return undefined;
  const from = node.from?.froms[0];
  return from?.kind === 'TableNode' ? Reflect.get(from, 'table').identifier.name : undefined;
}

/** Declares a query. It is compiled at its first use. */
export function statement<Parameters extends object, Row>(
  build: (parameters: Parameters, dialect: Dialect) => Buildable<Row>,
): Statement<Parameters, Row> {
  return new Statement(build, (row: Row) => row);
}

/** The LIKE pattern for texts that contain a text, ignoring the case of A to Z. */
export function containing(text: string): string {
  const lower = text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return `%${lower.replace(/[\\%_]/g, '\\$&')}%`;
}
