import type { Amounts, Books, Funds, HeldAmounts } from '../../../core/books/books.ts';
import type { Count, CountedAmount } from '../../../core/entities/count.ts';
import type { AccountId } from '../../../core/values/ids.ts';
import { balanceOf } from '../../entities/accounts.ts';
import { usedAmount } from '../../entities/counts.ts';
import type { Reader } from '../database/reader.ts';

interface StoredAmounts extends Amounts {
  /** The name of the count. */
  readonly name: string;
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
      return { name, used: used ?? 0n, reserved: 0n, hasRow: used !== undefined };
    });
  }

  funds(id: AccountId): Funds {
    return this.#funds.shared(id).value;
  }

  count(count: Count): StoredAmounts {
    return this.#found(count).value;
  }

  /** The same counts with their amounts, which are looked up once for a request rather than forty times. */
  found(counted: readonly CountedAmount[]): readonly CountedAmount[] {
    return counted.map(({ owner, unit, period, amount, limit, firstOf }): FoundCount & CountedAmount => {
      const found = this.#counts.shared(nameOf({ owner, unit, period }));
      return { owner, unit, period, amount, limit, firstOf, found };
    });
  }

  isNew(count: Count): boolean {
    const { hasRow, reserved } = this.count(count);
    return !hasRow && reserved === 0n;
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
  use({ accountId, hold, counted }: Pick<HeldAmounts, 'accountId' | 'hold' | 'counted'>): void {
    if (hold !== undefined) this.#funds.use(accountId);
    for (const one of counted) this.#found(one).users++;
  }

  /** The opposite of `use`, once the end of the request is durable. */
  release({ accountId, hold, counted }: Pick<HeldAmounts, 'accountId' | 'hold' | 'counted'>): void {
    if (hold !== undefined) this.#funds.release(accountId);
    for (const one of counted) {
      const found = this.#found(one);
      // The record's transaction has written the row.
      found.value.hasRow = true;
      found.users--;
    }
  }

  trim(): void {
    this.#funds.trim();
    this.#counts.trim();
  }

  #found(count: FoundCount): Shared<StoredAmounts> {
    return count.found ?? this.#counts.shared(nameOf(count));
  }
}

interface FoundCount extends Count {
  readonly found?: Shared<StoredAmounts>;
}

function nameOf({ owner, unit, period }: Count): string {
  return `${owner} ${unit} ${period}`;
}

function countOf(name: string): Count {
  const [owner, unit, period] = name.split(' ') as [string, Count['unit'], string];
  return { owner, unit, period };
}

/** Number of unused values that stay in memory. */
const idleMax = 10_000;

/** A value and the number of its users. */
interface Shared<Value> {
  readonly value: Value;
  users: number;
}

/** Values that running requests share. Each is read at its first use, and stays in memory while it has users. */
class InUse<Key, Value> {
  readonly #read: (key: Key) => Value;
  readonly #values = new Map<Key, Shared<Value>>();
  #sizeMax = idleMax;

  constructor(read: (key: Key) => Value) {
    this.#read = read;
  }

  /** The value, if it is in memory. */
  peek(key: Key): Value | undefined {
    return this.#values.get(key)?.value;
  }

  /** Adds a user. Each must `release` the value once. */
  use(key: Key): void {
    this.shared(key).users++;
  }

  release(key: Key): void {
    const shared = this.#values.get(key);
    if (shared) shared.users--;
  }

  /** The value with its users, read if it is not in memory. It stays the same while it has some. */
  shared(key: Key): Shared<Value> {
    let shared = this.#values.get(key);
    if (shared === undefined) {
      shared = { value: this.#read(key), users: 0 };
      this.#values.set(key, shared);
    }
    return shared;
  }

  /** Drops unused values if there are too many. Values that were read before must be looked up again. */
  trim(): void {
    if (this.#values.size <= this.#sizeMax) return;
    for (const [key, { users }] of this.#values) if (users === 0) this.#values.delete(key);
    this.#sizeMax = this.#values.size + idleMax;
  }
}
