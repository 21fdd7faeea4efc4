import type { AccountId } from '../../../core/values/ids.ts';
import { type NanoCredits, nanoCredits } from '../../../core/values/money.ts';
import { type Budget, type Funds, holdCredits, lowerHold, raiseHold } from '../../decisions.ts';
import { InUse } from './in-use.ts';

/**
 * The balances and holds of accounts in use. No other process writes them, so these numbers, and not those of the database, say what is
 * available. A balance changes once its entry is durable.
 */
export class Credits {
  readonly #funds: InUse<AccountId, Funds>;

  /** @param balanceOf reads a balance of which nothing is held */
  constructor(balanceOf: (id: AccountId) => bigint) {
    this.#funds = new InUse((id) => ({ balance: balanceOf(id), held: 0n }));
  }

  /** Undefined if the account is not in use: then the database knows. */
  of(id: AccountId): { readonly balance: NanoCredits; readonly held: NanoCredits } | undefined {
    const funds = this.#funds.peek(id);
    return funds && { balance: nanoCredits(funds.balance), held: nanoCredits(funds.held) };
  }

  /** Holds an amount. False, and no change, if the balance less the holds does not cover it. */
  hold(id: AccountId, amount: bigint): boolean {
    if (holdCredits(this.#funds.use(id), amount)) return true;
    this.#funds.release(id);
    return false;
  }

  /** Raises a hold and its budgets by `wanted`, as far as the available credits and every budget reach. Returns the rise. */
  raise(id: AccountId, budgets: readonly Budget[], wanted: bigint): bigint {
    const funds = this.#funds.peek(id);
    return funds === undefined ? 0n : raiseHold(funds, budgets, wanted);
  }

  /** Takes a rise back. */
  lower(id: AccountId, budgets: readonly Budget[], rise: bigint): void {
    const funds = this.#funds.peek(id);
    if (funds) lowerHold(funds, budgets, rise);
  }

  /** Ends a hold once its debit is durable, or without one. */
  release(id: AccountId, hold: bigint, debit = 0n): void {
    const funds = this.#funds.peek(id);
    if (funds === undefined) return;
    funds.held -= hold;
    funds.balance -= debit;
    this.#funds.release(id);
  }
}
