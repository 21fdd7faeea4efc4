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
type Numbered<Row> = { readonly [Column in keyof Row]: Row[Column] | bigint };

interface UsageRow extends Numbered<EndRow & Pick<NewRow, 'operation' | 'model' | 'wire'>> {
  readonly id: string;
  readonly account: bigint;
  readonly key: bigint;
}

interface LedgerRow extends Omit<LedgerEntry, 'kind' | 'reason' | 'reference'> {
  readonly account: bigint;
  readonly kind: bigint | string;
  readonly reason: bigint | string;
  readonly reference: string | null;
}

const usageColumns = [
  ...['id', 'account', 'key', 'operation', 'model', 'wire', 'started_at_ms', 'characters'],
  ...['hold_nano_credits', 'price_input', 'price_output', 'end_user', 'tags'],
  ...endColumns,
];
const bytesOf = (id: unknown) => sql`unhex(substr(${id}, 5))`;

/** Maximum of the statements that insert a record, each for records with values in the same columns. */
const insertsMax = 64;
const inserts = new Map<number, Statement<UsageRow>>();
const insertAll = insertInto(usageColumns);

/** The statement for a record. It leaves out the columns that are null, as each value costs time in two threads. */
function insertFor(row: UsageRow): Statement<UsageRow> {
  let filled = 0;
  for (let at = 0; at < usageColumns.length; at++)
    if (row[usageColumns[at] as keyof UsageRow] != null) filled |= 1 << at;
  let insert = inserts.get(filled);
  if (insert === undefined) {
    if (inserts.size >= insertsMax) return insertAll;
    insert = insertInto(usageColumns.filter((_, at) => (filled & (1 << at)) !== 0));
    inserts.set(filled, insert);
  }
  return insert;
}

function insertInto(columns: readonly string[]): Statement<UsageRow> {
  return statement((p: UsageRow) => {
    const values = columns.map((column) =>
      column === 'id' ? bytesOf(p.id) : sql`${Reflect.get(p, column)}`,
    );
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
  (p: LedgerRow) => sql`insert into ledger_rows
    (account, id, kind, amount_nano_credits, reason, reference, created_at_ms)
    values (${p.account}, ${bytesOf(p.id)}, ${p.kind}, ${p.amount}, ${p.reason}, ${p.reference}, ${p.createdAtMs})`,
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
    return this.#insert(startedRow(start, hold, price));
  }

  /** Inserts the record of a request without a started record. */
  insertEnded(start: RecordStart, recorded: RecordEnd, price?: Price): Step[] {
    return this.#insert(endedRow(start, recorded, price));
  }

  /** Ends a started record. */
  endStarted(id: RequestId, recorded: RecordEnd): Step[] {
    const row = endRow(recorded);
    const model = recorded.model === undefined ? null : this.#numbers.word(recorded.model);
    return this.#steps(endUsage, { id, ...row, ...this.#numbered(row), model });
  }

  /** Goes with `addCredits` of the same amount. The primary key prevents a second debit of a request. */
  insertEntry(entry: LedgerEntry): Step[] {
    const numbers = this.#numbers;
    const isDebit = entry.kind === 'debit';
    const row: LedgerRow = {
      ...entry,
      account: numbers.account(entry.accountId),
      kind: numbers.word(entry.kind),
      reason: isDebit ? numbers.word(entry.reason) : entry.reason,
      // The id of a debit names its request.
      reference: isDebit ? null : entry.reference,
    };
    return this.#steps(insertLedger, row);
  }

  #insert(row: NewRow): Step[] {
    const numbers = this.#numbers;
    const { model, code, tokens_source: source, engine } = row;
    // Clients may name any model in a request that fails: only models that are served get numbers.
    const isServed = row.state === 'ok' || row.state === 'started';
    const numberOf = (word: string) => (isServed ? numbers.word(word) : numbers.find(word));
    const stored: UsageRow = {
      ...row,
      state: numbers.word(row.state),
      code: code == null ? null : numbers.word(code),
      tokens_source: source == null ? null : numbers.word(source),
      account: numbers.account(row.account_id as AccountId),
      key: numbers.key(row.key_id as KeyId),
      operation: numbers.word(row.operation),
      model: model == null ? null : numberOf(model),
      wire: numbers.word(row.wire),
      ...(engine != null && { engine: numbers.word(engine) }),
    };
    return this.#steps(insertFor(stored), stored);
  }

  #numbered({ state, code, tokens_source: source, engine }: EndRow) {
    const numberOf = (word: string | null | undefined) => (word == null ? null : this.#numbers.word(word));
    return {
      state: this.#numbers.word(state),
      code: numberOf(code),
      tokens_source: numberOf(source),
      engine: numberOf(engine),
    };
  }

  #steps<Row extends object>(write: Statement<Row>, row: Row): Step[] {
    return [...this.#numbers.takeMissing(), step(write, row, 'fail')];
  }
}
