import { sql } from 'kysely';
import type { LedgerEntry, LedgerStore } from '../../core/entities/ledger.ts';
import { type AccountId, type LedgerEntryId, requestOfDebit } from '../../core/values/ids.ts';
import { nanoCredits } from '../../core/values/money.ts';
import type { Executor } from '../sql/executor.ts';
import { type Addition, type Step, step } from '../sql/job.ts';
import { pageOf } from '../sql/page-of.ts';
import { afterAll, type LedgerRow } from '../sql/schema.ts';
import { query, statement } from '../sql/statement.ts';

const insert = statement((p: LedgerEntry) =>
  query
    .insertInto('ledger_entries')
    .values({
      id: p.id,
      account_id: p.accountId,
      kind: p.kind,
      amount_nano_credits: p.amount,
      reason: p.reason,
      reference: p.reference,
      created_at_ms: p.createdAtMs,
    }),
);
const add = statement((p: { balance: bigint; held: bigint; id: AccountId }) =>
  query
    .updateTable('accounts')
    .set({
      balance_nano_credits: sql`balance_nano_credits + ${p.balance}`,
      held_nano_credits: sql`held_nano_credits + ${p.held}`,
    })
    .where('id', '=', p.id),
);
/** The load or adjustment with a reference. */
export const entryByReference = statement((p: { accountId: AccountId; reference: string }) =>
  query
    .selectFrom('ledger_entries')
    .selectAll()
    .where('account_id', '=', p.accountId)
    .where('reference', '=', p.reference)
    // Written out, so that SQLite uses the index of these entries.
    .where(sql<boolean>`kind <> 'debit'`),
).map(toEntry);
const entriesBefore = statement((p: { accountId: AccountId; after: string; size: number }) =>
  query
    .selectFrom('ledger_entries')
    .selectAll()
    .where('account_id', '=', p.accountId)
    .where('id', '<', p.after)
    .orderBy('id', 'desc')
    .limit(p.size),
).map(toEntry);

/** @param credits of accounts, as this process knows them */
export function ledgerStore(executor: Executor, credits: Omit<LedgerStore, 'list'>): LedgerStore {
  return {
    ...credits,
    list: (accountId, page) =>
      pageOf(page, ({ size, after = afterAll }) => executor.all(entriesBefore, { accountId, after, size })),
  };
}

/** Goes with `addCredits` of the same amount. The primary key prevents a second debit of a request. */
export function insertEntry(entry: LedgerEntry): Step {
  return step(insert, entry, 'fail');
}

/** Changes a balance and its holds. The table refuses holds below 0 or above the balance. */
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
    // PostgreSQL keeps no reference of a debit: its id is that of the request.
    reference: row.reference ?? requestOfDebit(row.id),
    createdAtMs: Number(row.created_at_ms),
  };
}
