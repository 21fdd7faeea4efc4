import { createHash } from 'node:crypto';
import type { Row, Value } from './tables.ts';

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
  readonly #kept: (text: string) => string;
  readonly #hash = createHash('sha256');
  readonly #sums: Record<string, bigint> = {};
  rows = 0;

  /** @param kept converts a text to the form that both databases store */
  constructor(kept: (text: string) => string) {
    this.#kept = kept;
  }

  add(rows: readonly Row[]): void {
    for (const row of rows) {
      for (const [column, value] of Object.entries(row)) {
        if (typeof value === 'bigint') this.#sums[column] = (this.#sums[column] ?? 0n) + value;
      }
      const values = Object.values(row).map((value) => this.#encoded(value));
      this.#hash.update(`${JSON.stringify(values)}\n`);
    }
    this.rows += rows.length;
  }

  facts(table: string): TableFacts {
    return { table, rows: this.rows, sums: this.#sums, sha256: this.#hash.digest('hex') };
  }

  /** Values of different types never have the same form. */
  #encoded(value: Value): string | null {
    if (value === null) return null;
    if (typeof value === 'bigint') return `i${value}`;
    if (typeof value === 'string') return `t${this.#kept(value)}`;
    return `b${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')}`;
  }
}

/** The first difference, in words; undefined for equal tables. */
export function differenceOf(one: TableFacts, other: TableFacts): string | undefined {
  if (one.rows !== other.rows) return `${one.rows} rows became ${other.rows}`;
  const sum = Object.keys({ ...one.sums, ...other.sums }).find((name) => one.sums[name] !== other.sums[name]);
  if (sum) return `the sum of ${sum} was ${one.sums[sum]} and became ${other.sums[sum]}`;
  return one.sha256 === other.sha256 ? undefined : 'the values of the rows differ';
}
