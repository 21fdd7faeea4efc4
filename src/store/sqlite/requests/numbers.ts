import { sql } from 'kysely';
import type { AccountId, KeyId } from '../../../core/values/ids.ts';
import { type Step, step } from '../../sql/job.ts';
import { statement } from '../../sql/statement.ts';
import type { Reader } from '../database/reader.ts';

/** Number of ids in memory. They take about 2 MB. */
const knownMax = 20_000;

interface NumberRow {
  readonly number: bigint;
}

const accountNumber = statement(
  (p: { id: string }) => sql<NumberRow>`select number from accounts where id = ${p.id}`,
);
const keyNumber = statement(
  (p: { id: string }) => sql<NumberRow>`select number from api_keys where id = ${p.id}`,
);
const wordNumber = statement(
  (p: { word: string }) => sql<NumberRow>`select number from words where word = ${p.word}`,
);
const addWord = statement(
  (p: { word: string }) => sql`insert into words (word) values (${p.word}) on conflict do nothing`,
);

/**
 * The numbers that stand for accounts, keys and words in rows. They never change, so they stay in memory. Those of words are `bigint`, as
 * their columns take any type, and would keep a `number` as a fraction.
 */
export class Numbers {
  readonly #reader: Reader;
  readonly #ids = new Map<string, number>();
  readonly #words = new Map<string, bigint>();
  #missing: string[] = [];

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  account(id: AccountId): number {
    return this.#ids.get(id) ?? this.#read(accountNumber, id);
  }

  key(id: KeyId): number {
    return this.#ids.get(id) ?? this.#read(keyNumber, id);
  }

  /** The number of a word, or the word if it has none. `takeMissing` then gives it one. */
  word(word: string): bigint | string {
    const number = this.#words.get(word) ?? this.find(word);
    if (typeof number === 'string') this.#missing.push(word);
    return number;
  }

  /** The number of a word, or the word if it has none. */
  find(word: string): bigint | string {
    const known = this.#words.get(word);
    if (known !== undefined) return known;
    const row = this.#reader.get(wordNumber, { word });
    if (row === undefined) return word;
    this.#words.set(word, row.number);
    return row.number;
  }

  #read(query: typeof accountNumber, id: string): number {
    const row = this.#reader.get(query, { id });
    if (row === undefined) throw new Error(`there is no account or key ${id}`);
    if (this.#ids.size >= knownMax) this.#ids.clear();
    const number = Number(row.number);
    this.#ids.set(id, number);
    return number;
  }

  /** Steps that give numbers to the words that were missing since the last call. */
  takeMissing(): Step[] {
    if (this.#missing.length === 0) return [];
    const missing = this.#missing;
    this.#missing = [];
    return missing.map((word) => step(addWord, { word }));
  }
}
