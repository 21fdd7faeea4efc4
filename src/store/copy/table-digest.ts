import { createHash } from 'node:crypto';
import type { Row, Table, Value } from './side.ts';

/** Facts that are equal for equal tables. */
export interface TableFacts {
  readonly table: string;
  readonly rows: number;
  /** The sum of each column of whole numbers. */
  readonly sums: Readonly<Record<string, bigint>>;
  /** SHA-256 of all values of all rows in the order of the primary key, in hexadecimal digits. */
  readonly sha256: string;
}

/** Adds up the rows of a table. */
export class TableDigest {
  readonly #table: Table;
  readonly #kept: (text: string) => string;
  readonly #hash = createHash('sha256');
  readonly #sums = new Map<string, bigint>();
  #rows = 0;

  /** @param kept how both databases keep a text */
  constructor(table: Table, kept: (text: string) => string) {
    this.#table = table;
    this.#kept = kept;
  }

  add(rows: readonly Row[]): void {
    const { columns } = this.#table;
    for (const row of rows) {
      for (const [index, value] of row.entries()) {
        if (typeof value !== 'bigint') continue;
        const column = columns[index] ?? '';
        this.#sums.set(column, (this.#sums.get(column) ?? 0n) + value);
      }
      this.#hash.update(`${JSON.stringify(row.map((value) => this.#encoded(value)))}\n`);
    }
    this.#rows += rows.length;
  }

  facts(): TableFacts {
    const sums = this.#table.columns.flatMap((column) => {
      const sum = this.#sums.get(column);
      return sum === undefined ? [] : [[column, sum] as const];
    });
    return {
      table: this.#table.name,
      rows: this.#rows,
      sums: Object.fromEntries(sums),
      sha256: this.#hash.digest('hex'),
    };
  }

  /** Values of different types never have the same form. */
  #encoded(value: Value): string | null {
    if (value === null) return null;
    if (typeof value === 'bigint') return `i${value}`;
    if (typeof value === 'string') return `t${this.#kept(value)}`;
    return `b${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')}`;
  }
}

/** The first difference, in words; undefined if there is none. */
export function differenceOf(one: TableFacts, other: TableFacts): string | undefined {
  if (one.rows !== other.rows) return `${one.rows} rows became ${other.rows}`;
  const sum = Object.keys({ ...one.sums, ...other.sums }).find((name) => one.sums[name] !== other.sums[name]);
  if (sum) return `the sum of ${sum} was ${one.sums[sum]} and became ${other.sums[sum]}`;
  return one.sha256 === other.sha256 ? undefined : 'the values of the rows differ';
}
