/**
 * The rules of money in plain variables, and random steps that play them beside the program: on the rules alone, or on a store. After
 * each step both must have the same outcome, credits and counts.
 */
import { expect } from 'vitest';
import type { CountedAmount } from '../../src/core/entities/count.ts';
import type { EntryOutcome } from '../../src/core/entities/ledger.ts';
import type { LimitReached, Reservation, ReserveOutcome } from '../../src/core/entities/reservation.ts';
import type { RecordEnd } from '../../src/core/entities/usage.ts';
import type { AccountId, RequestId } from '../../src/core/values/ids.ts';
import { nanoCredits } from '../../src/core/values/money.ts';
import { outcomeOf } from './reservations.ts';

/** The program that is played. Values may come at once or later. */
export interface Books {
  reserve(accountId: AccountId, reservation: Reservation): Later<{ id: RequestId; outcome: ReserveOutcome }>;
  extend(id: RequestId, counted: readonly CountedAmount[]): Later<LimitReached | undefined>;
  settle(id: RequestId, end: RecordEnd): Later<RecordEnd>;
  enter(accountId: AccountId, amount: bigint, reference: string): Later<EntryOutcome>;
  funds(accountId: AccountId): Later<{ readonly balance: bigint; readonly held: bigint }>;
  taken(counts: readonly CountedAmount[]): Later<readonly bigint[]>;
}
type Later<T> = T | Promise<T>;

interface Running {
  readonly id: RequestId;
  readonly accountId: AccountId;
  readonly hold: bigint | undefined;
  counted: readonly CountedAmount[];
}

interface Account {
  readonly id: AccountId;
  readonly keyId: string;
  balance: bigint;
  held: bigint;
  /** The sum of all loads, adjustments and debits. */
  entries: bigint;
  readonly references: Map<string, bigint>;
}

const price = { inputPerMillion: nanoCredits(1n), outputPerMillion: nanoCredits(1n) };
const [fairUseLimit, charactersLimit, monthLimit, dayLimit] = [160n, 90n, 900n, 400n];

export class BooksModel {
  readonly #books: Books;
  readonly #random: () => number;
  readonly #accounts: readonly Account[];
  readonly #used = new Map<string, bigint>();
  readonly #reserved = new Map<string, bigint>();
  readonly running: Running[] = [];
  /** How often each outcome came. */
  readonly outcomes = new Map<string, number>();

  /** @param accounts with the id of a key each */
  constructor(books: Books, accounts: ReadonlyMap<AccountId, string>, seed: number) {
    this.#books = books;
    this.#random = randomFrom(seed);
    this.#accounts = [...accounts].map(([id, keyId]) => {
      return { id, keyId, balance: 0n, held: 0n, entries: 0n, references: new Map() };
    });
  }

  async play(steps: number): Promise<void> {
    for (let step = 0; step < steps; step++) {
      const account = this.#accounts[this.#below(this.#accounts.length)];
      const running = this.running[this.#below(Math.max(1, this.running.length))];
      if (account === undefined) return;
      const kind = this.#below(100);
      if (kind < 6) await this.#enter(account);
      else if (running === undefined || (kind < 46 && this.running.length < 12)) await this.#reserve(account);
      else if (kind < 60) await this.#extend(running);
      else await this.#settle(running);
      await this.#compare(account);
    }
  }

  /** Releases all that runs, as a start after a kill does. */
  release(): void {
    for (const running of this.running.splice(0)) {
      const account = this.#accountOf(running);
      account.held -= running.hold ?? 0n;
      for (const one of running.counted) this.#add(this.#reserved, one, -one.amount);
    }
  }

  /** Compares everything, and checks what is always true. */
  async check(): Promise<void> {
    for (const account of this.#accounts) {
      await this.#compare(account);
      const { balance, held, entries, id } = account;
      expect(balance).toBe(entries);
      const own = this.running.filter(({ accountId }) => accountId === id);
      expect(held).toBe(own.reduce((sum, { hold = 0n }) => sum + hold, 0n));
      expect(held >= 0n && held <= balance).toBe(true);
      const counts = [...this.#chatCounts(account, 0n), ...this.#audioCounts(account, 0n)];
      expect(await this.#books.taken(counts)).toEqual(counts.map((count) => this.#taken(count)));
      for (const count of counts) expect(this.#taken(count) <= count.limit).toBe(true);
    }
  }

  async #reserve(account: Account): Promise<void> {
    const isChat = this.#below(3) > 0;
    const amount = BigInt(this.#below(120));
    const counted = isChat ? this.#chatCounts(account, amount) : this.#audioCounts(account, amount / 2n);
    const hold = isChat ? { amount: nanoCredits(amount), price } : undefined;
    const { id, outcome } = await this.#books.reserve(account.id, { hold, counted });
    const fairUse = counted.filter(({ unit }) => unit === 'fair_use');
    const others = counted.filter(({ unit }) => unit !== 'fair_use');
    const isCovered = account.balance - account.held >= (hold?.amount ?? 0n);
    const expected =
      this.#excess(fairUse) ?? (isCovered ? undefined : 'balance') ?? this.#excess(others) ?? 'reserved';
    expect(outcomeOf(outcome)).toBe(expected);
    this.#note(expected);
    if (expected !== 'reserved') return;
    account.held += hold?.amount ?? 0n;
    for (const one of counted) this.#add(this.#reserved, one, one.amount);
    this.running.push({ id, accountId: account.id, hold: hold?.amount, counted });
  }

  async #extend(running: Running): Promise<void> {
    if (running.hold !== undefined) return;
    const rise = BigInt(this.#below(30));
    const counted = running.counted.map((one) => ({ ...one, amount: one.amount + rise }));
    const more = counted.map((one) => ({ ...one, amount: rise }));
    const expected = this.#excess(more);
    expect((await this.#books.extend(running.id, counted))?.unit).toBe(expected);
    this.#note(expected ? `not extended: ${expected}` : 'extended');
    if (expected !== undefined) return;
    for (const one of more) this.#add(this.#reserved, one, one.amount);
    running.counted = counted;
  }

  async #settle(running: Running): Promise<void> {
    const account = this.#accountOf(running);
    const { hold, counted } = running;
    const state = (['ok', 'ok', 'failed', 'cancelled'] as const)[this.#below(4)] ?? 'ok';
    const isSpent = state !== 'failed';
    const cost = hold !== undefined && isSpent ? hold / 2n + BigInt(this.#below(120)) : undefined;
    const reserved = Number(counted[0]?.amount ?? 0n);
    const fairUseUnits = hold === undefined ? (isSpent ? this.#below(reserved + 1) : 0) : undefined;
    const recorded = await this.#books.settle(running.id, endOf(state, cost, fairUseUnits));
    this.running.splice(this.running.indexOf(running), 1);
    const debit = cost === undefined ? 0n : this.#mostOf(cost, running, account);
    expect(recorded.cost ?? 0n).toBe(debit);
    expect(recorded.overrun ?? 0n).toBe((cost ?? 0n) - debit);
    this.#note(cost !== undefined && debit < cost ? 'over its hold' : state);
    account.balance -= debit;
    account.entries -= debit;
    account.held -= hold ?? 0n;
    for (const one of counted) {
      this.#add(this.#reserved, one, -one.amount);
      const spent = { credits: debit, fair_use: BigInt(fairUseUnits ?? 0) };
      const all = isSpent ? one.amount : 0n;
      this.#add(this.#used, one, one.unit === 'credits' || one.unit === 'fair_use' ? spent[one.unit] : all);
    }
  }

  /** A cost as far as the hold, the available credits and the budgets reach. */
  #mostOf(cost: bigint, { hold = 0n, counted }: Running, { balance, held }: Account): bigint {
    const rooms = counted.map((one) => one.limit - this.#taken(one));
    const rises = [cost - hold, balance - held, ...rooms].toSorted((one, other) => (one < other ? -1 : 1));
    const rise = rises[0] ?? 0n;
    if (cost <= hold) return cost;
    return rise > 0n ? hold + rise : hold;
  }

  async #enter(account: Account): Promise<void> {
    const amount = BigInt(this.#below(700) - 250);
    const reference = `r${this.#below(400)}`;
    const outcome = await this.#books.enter(account.id, amount, reference);
    const earlier = account.references.get(reference);
    if (earlier !== undefined) {
      expect(outcome).toBe(earlier === amount ? 'entered' : 'conflict');
      return;
    }
    const isCovered = amount >= 0n || account.balance - account.held >= -amount;
    expect(outcome).toBe(isCovered ? 'entered' : 'insufficient_credits');
    if (!isCovered) return;
    account.references.set(reference, amount);
    account.balance += amount;
    account.entries += amount;
  }

  async #compare({ id, balance, held }: Account): Promise<void> {
    const funds = await this.#books.funds(id);
    if (funds.balance !== balance || funds.held !== held) expect(funds).toEqual({ balance, held });
  }

  /** The unit of the first amount that does not fit. */
  #excess(counted: readonly CountedAmount[]): string | undefined {
    return counted.find((one) => this.#taken(one) + one.amount > one.limit)?.unit;
  }

  /** The periods change now and then, so that limits are reached and then left behind. */
  #chatCounts({ id, keyId }: Account, amount: bigint): readonly CountedAmount[] {
    const day = Math.floor(this.#turns / 400);
    const count = { unit: 'credits', amount } as const;
    return [
      { ...count, owner: keyId, period: `day-${day}`, limit: dayLimit },
      { ...count, owner: id, period: `month-${Math.floor(day / 3)}`, limit: monthLimit },
    ];
  }

  #audioCounts({ id, keyId }: Account, amount: bigint): readonly CountedAmount[] {
    const period = `month-${Math.floor(this.#turns / 1_200)}`;
    return [
      { owner: id, unit: 'fair_use', period, amount, limit: fairUseLimit },
      {
        owner: keyId,
        unit: 'characters',
        period: `day-${Math.floor(this.#turns / 400)}`,
        amount,
        limit: charactersLimit,
      },
    ];
  }

  get #turns(): number {
    return this.outcomes.get('turns') ?? 0;
  }

  #note(outcome: string): void {
    for (const name of [outcome, 'turns']) this.outcomes.set(name, (this.outcomes.get(name) ?? 0) + 1);
  }

  #taken(count: CountedAmount): bigint {
    const name = nameOf(count);
    return (this.#used.get(name) ?? 0n) + (this.#reserved.get(name) ?? 0n);
  }

  #add(amounts: Map<string, bigint>, count: CountedAmount, amount: bigint): void {
    const name = nameOf(count);
    amounts.set(name, (amounts.get(name) ?? 0n) + amount);
  }

  #accountOf({ accountId }: Running): Account {
    const account = this.#accounts.find(({ id }) => id === accountId);
    if (account === undefined) throw new Error(`there is no account ${accountId}`);
    return account;
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count);
  }
}

function nameOf({ owner, unit, period }: CountedAmount): string {
  return `${owner} ${unit} ${period}`;
}

function endOf(
  state: 'ok' | 'failed' | 'cancelled',
  cost: bigint | undefined,
  fairUseUnits: number | undefined,
): RecordEnd {
  return {
    state,
    fairUseUnits,
    httpStatus: 200,
    code: undefined,
    firstOutputMs: 1,
    durationMs: 1,
    audioMsIn: undefined,
    audioMsOut: undefined,
    tokens: undefined,
    cost: cost === undefined ? undefined : nanoCredits(cost),
    overrun: undefined,
  };
}

/** Numbers from 0 to below 1 (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
