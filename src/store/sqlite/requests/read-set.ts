import type { Amounts, Books, Funds, Reserved } from '../../../core/books/books.ts';
import type { Count, CountedAmount } from '../../../core/entities/count.ts';
import type { AccountId } from '../../../core/values/ids.ts';
import { balanceOf } from '../../entities/accounts.ts';
import { usedAmount } from '../../entities/counts.ts';
import type { Reader } from '../database/reader.ts';
import { InUse } from './in-use.ts';

interface StoredAmounts extends Amounts {
  /** Whether the database has a row of the count. */
  hasRow: boolean;
}

/**
 * The accounts and counts in use. No other process writes them, so the numbers in memory decide, not those of the
 * database. A balance and a used amount change once their write is durable.
 */
export class ReadSet implements Books {
  readonly #reader: Reader;
  readonly #funds: InUse<AccountId, Funds>;
  readonly #counts: InUse<string, StoredAmounts>;

  constructor(reader: Reader) {
    this.#reader = reader;
    this.#funds = new InUse((id) => ({ balance: reader.get(balanceOf, { id }) ?? 0n, held: 0n }));
    this.#counts = new InUse((name) => {
      const used = reader.get(usedAmount, countOf(name));
      return { used: used ?? 0n, reserved: 0n, hasRow: used !== undefined };
    });
  }

  funds(id: AccountId): Funds {
    return this.#funds.get(id);
  }

  count(count: Count): StoredAmounts {
    return this.#counts.get(nameOf(count));
  }

  /** The same counts, whose names are made once for a request rather than at each of its forty look-ups. */
  named(counted: readonly CountedAmount[]): readonly CountedAmount[] {
    return counted.map((one) => ({ ...one, name: nameOf(one) }));
  }

  /** Undefined, as there is only this server. */
  meter(): undefined {
    return undefined;
  }

  /** Credits held by running requests; undefined if the account is not in use. */
  held(id: AccountId): bigint | undefined {
    return this.#funds.peek(id)?.held;
  }

  available(id: AccountId): bigint {
    const funds = this.#funds.peek(id);
    return funds ? funds.balance - funds.held : (this.#reader.get(balanceOf, { id }) ?? 0n);
  }

  taken(count: Count): bigint {
    const amounts = this.#counts.peek(nameOf(count));
    return amounts ? amounts.used + amounts.reserved : (this.#reader.get(usedAmount, count) ?? 0n);
  }

  /** Keeps the values of a running request in memory. */
  use({ accountId, hold, counted }: Pick<Reserved, 'accountId' | 'hold' | 'counted'>): void {
    if (hold !== undefined) this.#funds.use(accountId);
    for (const one of counted) this.#counts.use(nameOf(one));
  }

  /** The opposite of `use`, once the end of the request is durable. */
  release({ accountId, hold, counted }: Pick<Reserved, 'accountId' | 'hold' | 'counted'>): void {
    if (hold !== undefined) this.#funds.release(accountId);
    for (const one of counted) {
      // The record's transaction has written the row.
      this.count(one).hasRow = true;
      this.#counts.release(nameOf(one));
    }
  }

  trim(): void {
    this.#funds.trim();
    this.#counts.trim();
  }
}

interface NamedCount extends Count {
  readonly name?: string;
}

function nameOf({ name, owner, unit, period }: NamedCount): string {
  return name ?? `${owner} ${unit} ${period}`;
}

function countOf(name: string): Count {
  const [owner, unit, period] = name.split(' ') as [string, Count['unit'], string];
  return { owner, unit, period };
}
