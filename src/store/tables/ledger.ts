import { sql } from 'kysely';
import { type NanoCredits, nanoCredits, nanoCreditsMax } from '../../core/billing/money.ts';
import { type AccountId, debitEntryId, type LedgerEntryId, type RequestId } from '../../core/ids.ts';
import type { EntryOutcome, LedgerEntry } from '../../core/ports/ledger.ts';
import type { PageRequest } from '../../core/ports/page.ts';
import { type Connection, prepare, query } from '../sqlite/database.ts';
import { afterAll, type LedgerRow } from './schema.ts';

/** Balances, holds and ledger entries. Every guard is part of the write that it guards. */
export class Ledger {
  readonly #hold;
  readonly #settle;
  readonly #add;
  readonly #insert;
  readonly #byReference;
  readonly #page;

  constructor(connection: Connection) {
    this.#hold = prepare(connection, (p: { id: AccountId; amount: NanoCredits }) =>
      query
        .updateTable('accounts')
        .set({ held_nano_credits: sql`held_nano_credits + ${p.amount}` })
        .where('id', '=', p.id)
        .where(sql<boolean>`balance_nano_credits - held_nano_credits >= ${p.amount}`),
    );
    this.#settle = prepare(connection, (p: { id: AccountId; hold: NanoCredits; debit: NanoCredits }) =>
      query
        .updateTable('accounts')
        .set({
          held_nano_credits: sql`held_nano_credits - ${p.hold}`,
          balance_nano_credits: sql`balance_nano_credits - ${p.debit}`,
        })
        .where('id', '=', p.id)
        .where(sql<boolean>`balance_nano_credits - held_nano_credits + ${p.hold} >= ${p.debit}`),
    );
    this.#add = prepare(connection, (p: { id: AccountId; amount: NanoCredits }) =>
      query
        .updateTable('accounts')
        .set({ balance_nano_credits: sql`balance_nano_credits + ${p.amount}` })
        .where('id', '=', p.id)
        .where(sql<boolean>`balance_nano_credits <= ${nanoCreditsMax} - ${p.amount}`)
        .where(sql<boolean>`balance_nano_credits + ${p.amount} >= held_nano_credits`),
    );
    this.#insert = prepare(connection, (p: LedgerEntry) =>
      query.insertInto('ledger_entries').values({
        id: p.id,
        account_id: p.accountId,
        kind: p.kind,
        amount_nano_credits: p.amount,
        reason: p.reason,
        reference: p.reference,
        created_at_ms: p.createdAtMs,
      }),
    );
    this.#byReference = prepare(connection, (p: { accountId: AccountId; reference: string }) =>
      query
        .selectFrom('ledger_entries')
        .selectAll()
        .where('account_id', '=', p.accountId)
        .where('reference', '=', p.reference)
        // Written out, so that SQLite uses the index of these entries.
        .where(sql<boolean>`kind <> 'debit'`),
    );
    this.#page = prepare(connection, (p: { accountId: AccountId; after: string; size: number }) =>
      query
        .selectFrom('ledger_entries')
        .selectAll()
        .where('account_id', '=', p.accountId)
        .where('id', '<', p.after)
        .orderBy('id', 'desc')
        .limit(p.size),
    );
  }

  /** False, and no change, if the balance less the holds does not cover the amount. */
  hold(id: AccountId, amount: NanoCredits): boolean {
    return this.#hold.run({ id, amount }).changes > 0;
  }

  /**
   * Releases a hold and debits the cost of the request, with a ledger entry.
   * @throws if the hold and the available credits do not cover the debit
   */
  settle(id: AccountId, hold: NanoCredits, debit: Debit): void {
    const isCovered = this.#settle.run({ id, hold, debit: debit.amount }).changes > 0;
    if (!isCovered) throw new Error(`request ${debit.requestId} would debit more than its account has`);
    if (debit.amount === 0n) return;
    this.#insert.run({
      id: debitEntryId(debit.requestId),
      accountId: id,
      kind: 'debit',
      amount: nanoCredits(-debit.amount),
      reason: debit.reason,
      reference: debit.requestId,
      createdAtMs: debit.atMs,
    });
  }

  /** Enters a load or an adjustment once for each reference; `repeated` if it was entered before. */
  enter(entry: LedgerEntry): EntryOutcome | 'repeated' {
    const earlier = this.#byReference.get(entry);
    if (earlier) return isSame(earlier, entry) ? 'repeated' : 'conflict';
    if (this.#add.run({ id: entry.accountId, amount: entry.amount }).changes === 0) {
      return entry.amount > 0n ? 'balance_too_large' : 'insufficient_credits';
    }
    this.#insert.run(entry);
    return 'entered';
  }

  list(accountId: AccountId, { size, after = afterAll }: PageRequest): LedgerEntry[] {
    return this.#page.all({ accountId, after, size }).map(toEntry);
  }
}

interface Debit {
  readonly requestId: RequestId;
  /** 0 or more. */
  readonly amount: NanoCredits;
  readonly reason: string;
  readonly atMs: number;
}

function isSame(row: LedgerRow, entry: LedgerEntry): boolean {
  return row.kind === entry.kind && row.amount_nano_credits === entry.amount && row.reason === entry.reason;
}

function toEntry(row: LedgerRow): LedgerEntry {
  return {
    id: row.id as LedgerEntryId,
    accountId: row.account_id as AccountId,
    kind: row.kind,
    amount: nanoCredits(row.amount_nano_credits),
    reason: row.reason,
    reference: row.reference,
    createdAtMs: Number(row.created_at_ms),
  };
}
