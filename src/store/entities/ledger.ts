import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ExpressionBuilder, sql } from 'kysely';
import type {
  LedgerEntry,
  LedgerStore,
  Statement,
  StatementLine,
  StatementPeriod,
} from '../../core/entities/ledger.ts';
import {
  type AccountId,
  firstLedgerEntryId,
  type LedgerEntryId,
  requestOfDebit,
} from '../../core/values/ids.ts';
import { nanoCredits } from '../../core/values/money.ts';
import { debitNumber } from '../migrations/integer-rows.ts';
import { type Dialect, isWithin } from '../sql/dialect.ts';
import { type Executor, pageOf } from '../sql/executor.ts';
import type { Addition } from '../sql/job.ts';
import { afterAll, type Database, type LedgerRow } from '../sql/schema.ts';
import { query, statement } from '../sql/statement.ts';
import { balanceOf } from './accounts.ts';
import { steps } from './usage-steps.ts';

const add = statement((p: { balance: bigint; held: bigint; id: AccountId }) =>
  query
    .updateTable('accounts')
    .set({
      balance_nano_credits: sql`balance_nano_credits + ${p.balance}`,
      held_nano_credits: sql`held_nano_credits + ${p.held}`,
    })
    .where('id', '=', p.id),
);
/** The load or adjustment with a reference. For SQLite only. */
export const entryByReference = statement((p: { accountId: AccountId; reference: string }) =>
  query
    .selectFrom('ledger_entries')
    .selectAll()
    .where('account_id', '=', p.accountId)
    // The view has no index of references.
    .where(sql<boolean>`id_bytes in (select id from ledger_rows
      where account = (select number from accounts where id = ${p.accountId}) and reference = ${p.reference}
        and kind <> ${sql.lit(debitNumber)})`),
).map(toEntry);
const entriesBefore = statement((p: { accountId: AccountId; after: string; size: number }, dialect) =>
  query
    .selectFrom('ledger_entries')
    .selectAll()
    .where('account_id', '=', p.accountId)
    .where(dialect.idOrder, '<', dialect.idBound(p.after))
    .orderBy(dialect.idOrder, 'desc')
    .limit(p.size),
).map(toEntry);

/** @param credits the credits of accounts, in the view of this process */
export function ledgerStore(
  executor: Executor,
  credits: Pick<LedgerStore, 'available' | 'enter'>,
): LedgerStore {
  return {
    ...credits,
    list: (accountId, page) =>
      pageOf(page, ({ size, after = afterAll }) => executor.all(entriesBefore, { accountId, after, size })),
    statement: (accountId, period) => readStatement(executor, accountId, period),
  };
}

/** Changes a balance and its holds. Constraints refuse holds below 0 or above the balance. */
export function addCredits(accountId: AccountId, balance: bigint, held: bigint): Addition {
  return { statement: add, amounts: [balance, held], row: [accountId] };
}

function toEntry(row: LedgerRow): LedgerEntry {
  return {
    id: row.id as LedgerEntryId,
    accountId: row.account_id as AccountId,
    kind: row.kind,
    amount: nanoCredits(row.amount_nano_credits),
    reason: row.reason,
    // PostgreSQL stores no reference for a debit: its id is that of the request.
    reference: row.reference ?? requestOfDebit(row.id),
    createdAtMs: Number(row.created_at_ms),
  };
}

const debitLinesMax = 10_000;
/** The id of a debit begins with the start of its request, which lasts at most 24 hours. */
const idLeadMs = 25 * 3_600_000;

interface EntryStep {
  readonly accountId: AccountId;
  readonly after: string;
  readonly last: string;
}

const sumAfterwards = statement((p: EntryStep & { readonly untilMs: bigint }, dialect) =>
  query
    .selectFrom('ledger_entries')
    .select(sql<bigint>`coalesce(sum(amount_nano_credits), 0)`.as('amount'))
    .where(isOfStep(p, dialect))
    .where('created_at_ms', '>=', p.untilMs),
).map(({ amount }) => amount);
const linesOfStep = statement(
  (p: EntryStep & { readonly fromMs: bigint; readonly untilMs: bigint }, dialect) => {
    const entries = query
      .selectFrom('ledger_entries')
      .select(['kind', 'amount_nano_credits'])
      .select([
        sql<string | null>`case kind when 'debit' then reason end`.as('model'),
        // Null if the record was pruned.
        sql<string | null>`case kind when 'debit'
          then (select key_id from usage_records where ${dialect.isOfDebit}) end`.as('key_id'),
      ])
      .where(isOfStep(p, dialect))
      .where('created_at_ms', '>=', p.fromMs)
      .where('created_at_ms', '<', p.untilMs);
    return query
      .selectFrom(entries.as('entries'))
      .select(['kind', 'model', 'key_id'])
      .select([sql<bigint>`count(*)`.as('entries'), sql<bigint>`sum(amount_nano_credits)`.as('amount')])
      .groupBy(['kind', 'model', 'key_id']);
  },
).map(({ kind, model, key_id, entries, amount }) => ({
  kind,
  model: model ?? undefined,
  keyId: key_id ?? undefined,
  entries,
  amount: nanoCredits(amount),
}));

function isOfStep(step: EntryStep, dialect: Dialect) {
  return ({ and, eb }: ExpressionBuilder<Database, 'ledger_entries'>) =>
    and([eb('account_id', '=', step.accountId), isWithin(dialect, step)]);
}

/** Begins with the present balance, so that reading takes as long as the entries since `fromMs`. */
function readStatement(
  executor: Executor,
  accountId: AccountId,
  { fromMs, untilMs }: StatementPeriod,
): Promise<Statement> {
  return executor.readSnapshot(async (snapshot) => {
    const lines = new Map<string, StatementLine>();
    let closing = (await snapshot.get(balanceOf, { id: accountId })) ?? 0n;
    const period = { fromMs: BigInt(fromMs), untilMs: BigInt(untilMs) };
    const after = firstLedgerEntryId(Math.max(0, fromMs - idLeadMs));
    for await (const step of steps(snapshot, 'ledger_entries', { after, until: afterAll, accountId })) {
      const part = { accountId, ...step, ...period };
      closing -= (await snapshot.get(sumAfterwards, part)) ?? 0n;
      for (const line of await snapshot.all(linesOfStep, part)) addLine(lines, line);
      await nextTurn();
    }
    const inOrder = [...lines.values()].sort(compare);
    const opening = inOrder.reduce((balance, { amount }) => balance - amount, closing);
    return { opening: nanoCredits(opening), closing: nanoCredits(closing), lines: inOrder };
  });
}

function addLine(lines: Map<string, StatementLine>, line: StatementLine): void {
  const { kind, entries, amount } = line;
  const own = JSON.stringify([kind, line.model, line.keyId]);
  const fits = lines.has(own) || lines.size < debitLinesMax;
  const of = fits ? line : { kind, model: undefined, keyId: undefined };
  const sum = lines.get(fits ? own : kind) ?? { entries: 0n, amount: 0n };
  lines.set(fits ? own : kind, {
    ...of,
    entries: sum.entries + entries,
    amount: nanoCredits(sum.amount + amount),
  });
}

const order: readonly LedgerEntry['kind'][] = ['load', 'debit', 'adjustment'];

/** Loads, debits by model and key, adjustments. */
function compare(one: StatementLine, other: StatementLine): number {
  const place = ({ kind, model = '', keyId = '' }: StatementLine) =>
    `${order.indexOf(kind)} ${model}\0${keyId}`;
  return place(one) < place(other) ? -1 : 1;
}
