/** The rules of money in plain variables: the credits of accounts, and the amounts that counts have used and reserved. */
import type { Count, CountedAmount } from '../../src/core/entities/count.ts';
import type { EntryOutcome } from '../../src/core/entities/ledger.ts';

interface Credits {
  balance: bigint;
  held: bigint;
  readonly entries: Map<string, Entered>;
  debits: bigint;
}

interface Entered {
  readonly kind: 'load' | 'adjustment';
  readonly amount: bigint;
}

/** The reservation of a running request. */
export interface Reserved {
  /** Id of the account. */
  readonly account: string;
  /** Undefined for audio. */
  readonly hold: bigint | undefined;
  counted: readonly CountedAmount[];
}

interface Spent {
  readonly cost?: bigint | undefined;
  readonly fairUse: bigint;
  /** Whether the other counts keep what was reserved. */
  readonly keepsCounts: boolean;
}

interface ExpectedCount extends Count {
  used: bigint;
  reserved: bigint;
}

export class ExpectedBooks {
  readonly #credits = new Map<string, Credits>();
  readonly #counts = new Map<string, ExpectedCount>();

  credits(account: string): Credits {
    let credits = this.#credits.get(account);
    if (credits === undefined) {
      credits = { balance: 0n, held: 0n, entries: new Map(), debits: 0n };
      this.#credits.set(account, credits);
    }
    return credits;
  }

  counts(): readonly ExpectedCount[] {
    return [...this.#counts.values()];
  }

  available(account: string): bigint {
    const { balance, held } = this.credits(account);
    return balance - held;
  }

  taken(count: Count): bigint {
    const { used, reserved } = this.#count(count);
    return used + reserved;
  }

  /** The limits minus the used and the reserved amounts. */
  left(counted: readonly CountedAmount[]): bigint[] {
    return counted.map((one) => one.limit - this.taken(one));
  }

  /** The unit of the first amount that does not fit. */
  excess(counted: readonly CountedAmount[]): string | undefined {
    return counted.find((one) => this.taken(one) + one.amount > one.limit)?.unit;
  }

  /** Fair use is refused before the balance, and all other counts after it. */
  refusalOf({ account, hold = 0n, counted }: Reserved): string | undefined {
    const fairUse = counted.filter(({ unit }) => unit === 'fair_use');
    const others = counted.filter(({ unit }) => unit !== 'fair_use');
    const balance = this.available(account) >= hold ? undefined : 'balance';
    return this.excess(fairUse) ?? balance ?? this.excess(others);
  }

  reserve({ account, hold = 0n, counted }: Reserved): void {
    this.credits(account).held += hold;
    for (const one of counted) this.#count(one).reserved += one.amount;
  }

  /** Raises what is reserved to these amounts. */
  extend(reserved: Reserved, counted: readonly CountedAmount[]): void {
    this.#release(reserved);
    reserved.counted = counted;
    this.reserve(reserved);
  }

  #release({ account, hold = 0n, counted }: Reserved): void {
    this.credits(account).held -= hold;
    for (const one of counted) this.#count(one).reserved -= one.amount;
  }

  /** @returns the debit, and the part of the cost that nothing covers */
  settle(reserved: Reserved, { cost = 0n, fairUse, keepsCounts }: Spent): { debit: bigint; overrun: bigint } {
    const debit = leastOf([cost, this.#mostOf(reserved)]);
    const credits = this.credits(reserved.account);
    credits.balance -= debit;
    credits.debits += debit;
    for (const one of reserved.counted) {
      const spent = { credits: debit, fair_use: fairUse };
      const kept = keepsCounts ? one.amount : 0n;
      this.#count(one).used += one.unit === 'credits' || one.unit === 'fair_use' ? spent[one.unit] : kept;
    }
    this.#release(reserved);
    return { debit, overrun: cost - debit };
  }

  /** The hold, and what the available credits and the budgets add to it. */
  #mostOf({ account, hold, counted }: Reserved): bigint {
    if (hold === undefined) return 0n;
    const budgets = counted.filter(({ unit }) => unit === 'credits');
    const rise = leastOf([this.available(account), ...this.left(budgets)]);
    return rise > 0n ? hold + rise : hold;
  }

  enter(account: string, kind: Entered['kind'], amount: bigint, reference: string): EntryOutcome {
    const credits = this.credits(account);
    const earlier = credits.entries.get(reference);
    if (earlier) return earlier.kind === kind && earlier.amount === amount ? 'entered' : 'conflict';
    if (amount < 0n && this.available(account) < -amount) return 'insufficient_credits';
    credits.entries.set(reference, { kind, amount });
    credits.balance += amount;
    return 'entered';
  }

  #count({ owner, unit, period }: Count): ExpectedCount {
    const name = `${owner} ${unit} ${period}`;
    let count = this.#counts.get(name);
    if (count === undefined) {
      count = { owner, unit, period, used: 0n, reserved: 0n };
      this.#counts.set(name, count);
    }
    return count;
  }
}

export function leastOf([first = 0n, ...others]: readonly bigint[]): bigint {
  let least = first;
  for (const one of others) if (one < least) least = one;
  return least;
}
