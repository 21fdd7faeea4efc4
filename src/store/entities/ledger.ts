import { sql } from 'kysely';
import type { LedgerEntry, LedgerStore } from '../../core/entities/ledger.ts';
import { type AccountId, type LedgerEntryId, requestOfDebit } from '../../core/values/ids.ts';
import { nanoCredits } from '../../core/values/money.ts';
import { debitNumber } from '../migrations/integer-rows.ts';
import type { Executor } from '../sql/executor.ts';
import type { Addition } from '../sql/job.ts';
import { pageOf } from '../sql/page-of.ts';
import { afterAll, type LedgerRow } from '../sql/schema.ts';
import { query, statement } from '../sql/statement.ts';
import { readStatement } from './statements.ts';

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
