/** The rows of usage records and ledger entries on SQLite: ids are bytes, and numbers stand for accounts, keys and words. */
import { sql } from 'kysely';
import type { LedgerEntry } from '../../../core/entities/ledger.ts';
import type { RecordEnd, RecordStart } from '../../../core/entities/usage.ts';
import type { AccountId, KeyId, RequestId } from '../../../core/values/ids.ts';
import type { Price } from '../../../core/values/money.ts';
import {
  type EndRow,
  endColumns,
  endedRow,
  endRow,
  type NewRow,
  startedColumns,
  startedRow,
  toStarted,
} from '../../entities/usage-records.ts';
import { startedNumber } from '../../migrations/integer-rows.ts';
import { type Step, step } from '../../sql/job.ts';
import { query, type Statement, statement } from '../../sql/statement.ts';
import type { Numbers } from './numbers.ts';

/** Values of columns, with numbers for words. */
type Numbered<Row> = { -readonly [Column in keyof Row]: Row[Column] | bigint | number | string };

const bytesOf = (id: unknown) => sql`unhex(substr(${id}, 5))`;

/** Maximum of the statements that insert a record, each for records with values in the same columns. */
const insertsMax = 64;
type Values = Readonly<Record<string, unknown>>;
/** By the columns that have values. */
type Inserts = Map<number, Statement<Values>>;
const startedInserts: Inserts = new Map();
const endedInserts: Inserts = new Map();
const everyColumn = -1;

/** JavaScript shifts numbers of 32 bits. */
const bitsMax = 32;

/**
 * Inserts a row without the columns that are null, as each value costs time in two threads.
 * @param inserts those of rows that have their members in the same order
 */
function insertRow(row: object, inserts: Inserts): Step {
  const all: readonly unknown[] = Object.values(row);
  const values: unknown[] = [];
  let filled = 0;
  for (let at = 0; at < all.length; at++) {
    const value = all[at];
    if (value == null) continue;
    filled |= 1 << at;
    values.push(value);
  }
  const isKept = inserts.size < insertsMax || inserts.has(filled);
  const columns = isKept ? filled : everyColumn;
  let insert = inserts.get(columns);
  if (insert === undefined) {
    if (all.length > bitsMax) throw new Error('A row has more columns than a number has bits.');
    insert = insertInto(Object.keys(row).filter((_, at) => (columns & (1 << at)) !== 0));
    inserts.set(columns, insert);
  }
  const parameters = isKept ? values : all.map((value) => value ?? null);
  return { statement: insert, parameters, ifUnchanged: 'fail' };
}

/** @param members of a row; accounts and keys have their numbers in shorter columns */
function insertInto(members: readonly string[]): Statement<Values> {
  return statement((p: Values) => {
    const columns = members.map((member) => member.replace(/_id$/, ''));
    const values = members.map((member) => (member === 'id' ? bytesOf(p[member]) : sql`${p[member]}`));
    return sql`insert into usage_rows (${sql.raw(columns.join(', '))}) values (${sql.join(values)})`;
  });
}

interface EndedRow extends Numbered<EndRow> {
  readonly id: RequestId;
  /** Null: that of the start. */
  readonly model: bigint | string | null;
}

const endUsage = statement((p: EndedRow) => {
  const ended = endColumns.map((column) => sql`${sql.ref(column)} = ${p[column]}`);
  return sql`update usage_rows set ${sql.join(ended)}, model = coalesce(${p.model}, model), hold_nano_credits = 0
    where id = ${bytesOf(p.id)} and state = ${sql.lit(startedNumber)}`;
});
const insertLedger = statement(
  (p: Values) => sql`insert into ledger_rows
    (account, id, kind, amount_nano_credits, reason, reference, created_at_ms)
    values (${p['account']}, ${bytesOf(p['id'])}, ${p['kind']}, ${p['amount']}, ${p['reason']}, ${p['reference']}, ${p['createdAtMs']})`,
);

/** Reads the table, as the view has no index of states. */
export const startedRecords = statement((_: object) =>
  query
    .selectFrom('usage_records')
    .select(startedColumns)
    .where(sql<boolean>`id_bytes in (select id from usage_rows where state = ${sql.lit(startedNumber)})`),
).map(toStarted);

/** The steps that write records and entries. */
export class Rows {
  readonly #numbers: Numbers;

  constructor(numbers: Numbers) {
    this.#numbers = numbers;
  }

  insertStarted(start: RecordStart, hold: bigint, price: Price | undefined): Step[] {
    return this.#insert(startedRow(start, hold, price), startedInserts);
  }

  /** Inserts the record of a request without a started record. */
  insertEnded(start: RecordStart, recorded: RecordEnd, price?: Price): Step[] {
    return this.#insert(endedRow(start, recorded, price), endedInserts);
  }

  /** Ends a started record. */
  endStarted(id: RequestId, recorded: RecordEnd): Step[] {
    const model = recorded.model === undefined ? null : this.#numbers.word(recorded.model);
    const row = this.#number(endRow(recorded));
    return this.#withMissing(step(endUsage, { id, ...row, model }, 'fail'));
  }

  /** Goes with `addCredits` of the same amount. The primary key prevents a second debit of a request. */
  insertEntry({ accountId, id, kind, amount, reason, reference, createdAtMs }: LedgerEntry): Step[] {
    const numbers = this.#numbers;
    const isDebit = kind === 'debit';
    const reasonOf = isDebit ? numbers.word(reason) : reason;
    // The id of a debit names its request.
    const ofOthers = isDebit ? null : reference;
    const ids = [numbers.account(accountId), id, numbers.word(kind)];
    const parameters = [...ids, amount, reasonOf, ofOthers, createdAtMs];
    return this.#withMissing({ statement: insertLedger, parameters, ifUnchanged: 'fail' });
  }

  /** @param row is changed */
  #insert(row: NewRow, inserts: Inserts): Step[] {
    const numbers = this.#numbers;
    const { model, state } = row;
    // Clients may name any model in a request that fails: only models that are served get numbers.
    const isServed = state === 'ok' || state === 'started';
    const stored: Numbered<NewRow> = this.#number(row);
    stored.account_id = numbers.account(row.account_id as AccountId);
    stored.key_id = numbers.key(row.key_id as KeyId);
    stored.operation = numbers.word(row.operation);
    stored.wire = numbers.word(row.wire);
    if (model != null) stored.model = isServed ? numbers.word(model) : numbers.find(model);
    return this.#withMissing(insertRow(stored, inserts));
  }

  /** Puts numbers in place of the words of an end. */
  #number<Row extends Pick<EndRow, 'state' | 'code' | 'tokens_source' | 'engine'>>(row: Row): Numbered<Row> {
    const { state, code, tokens_source: source, engine } = row;
    const numbers = this.#numbers;
    const numbered: Numbered<typeof row> = row;
    numbered.state = numbers.word(state);
    if (code != null) numbered.code = numbers.word(code);
    if (source != null) numbered.tokens_source = numbers.word(source);
    if (engine != null) numbered.engine = numbers.word(engine);
    return row;
  }

  /** Gives numbers to words before the step that uses them. */
  #withMissing(write: Step): Step[] {
    return [...this.#numbers.takeMissing(), write];
  }
}
