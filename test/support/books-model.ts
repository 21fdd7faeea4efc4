/**
 * Random steps beside the rules of money in plain variables: on the rules alone, or on a store. After each step both must have the same
 * outcome, credits and counts.
 */
import { expect } from 'vitest';
import type { CountedAmount } from '../../src/core/entities/count.ts';
import type { EntryOutcome } from '../../src/core/entities/ledger.ts';
import type { LimitReached, Reservation, ReserveOutcome } from '../../src/core/entities/reservation.ts';
import type { RecordEnd } from '../../src/core/entities/usage.ts';
import type { AccountId, RequestId } from '../../src/core/values/ids.ts';
import { nanoCredits } from '../../src/core/values/money.ts';
import { ExpectedBooks, type Reserved } from './expected-books.ts';
import { outcomeOf } from './reservations.ts';

/** The program under test. Values may come at once or later. */
export interface Books {
  reserve(accountId: AccountId, reservation: Reservation): Later<{ id: RequestId; outcome: ReserveOutcome }>;
  extend(id: RequestId, counted: readonly CountedAmount[]): Later<LimitReached | undefined>;
  settle(id: RequestId, end: RecordEnd): Later<RecordEnd>;
  enter(accountId: AccountId, amount: bigint, reference: string): Later<EntryOutcome>;
  funds(accountId: AccountId): Later<{ readonly balance: bigint; readonly held: bigint }>;
  taken(counts: readonly CountedAmount[]): Later<readonly bigint[]>;
}
type Later<T> = T | Promise<T>;

interface Running extends Reserved {
  readonly id: RequestId;
}

interface Account {
  readonly id: AccountId;
  readonly keyId: string;
}

const price = { inputPerMillion: nanoCredits(1n), outputPerMillion: nanoCredits(1n) };
const [fairUseLimit, charactersLimit, monthLimit, dayLimit] = [160n, 90n, 900n, 400n];

const endStates = ['ok', 'ok', 'ok', 'failed', 'cancelled', 'refused'] as const;

export class BooksModel {
  readonly #books: Books;
  readonly #random: () => number;
  readonly #accounts: readonly Account[];
  readonly #expected = new ExpectedBooks();
  readonly running: Running[] = [];
  /** How often each outcome occurred. */
  readonly outcomes = new Map<string, number>();

  /** @param accounts each with the id of a key */
  constructor(books: Books, accounts: ReadonlyMap<AccountId, string>, seed: number) {
    this.#books = books;
    this.#random = randomFrom(seed);
    this.#accounts = [...accounts].map(([id, keyId]) => ({ id, keyId }));
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

  /** Releases all running requests, like a start after a kill. */
  release(): void {
    for (const running of this.running.splice(0)) {
      this.#expected.settle(running, { fairUse: 0n, keepsCounts: false });
    }
  }

  /** Compares everything, and checks the rules that always hold. */
  async check(): Promise<void> {
    for (const account of this.#accounts) {
      await this.#compare(account);
      const { balance, held, entries, debits } = this.#expected.credits(account.id);
      expect(balance).toBe([...entries.values()].reduce((sum, { amount }) => sum + amount, -debits));
      const own = this.running.filter((running) => running.account === account.id);
      expect(held).toBe(own.reduce((sum, { hold = 0n }) => sum + hold, 0n));
      expect(held >= 0n && held <= balance).toBe(true);
      const counts = [...this.#chatCounts(account, 0n), ...this.#audioCounts(account, 0n)];
      expect(await this.#books.taken(counts)).toEqual(counts.map((count) => this.#expected.taken(count)));
      expect(this.#expected.left(counts).every((left) => left >= 0n)).toBe(true);
    }
  }

  async #reserve(account: Account): Promise<void> {
    const isChat = this.#below(3) > 0;
    const amount = BigInt(this.#below(120));
    const counted = isChat ? this.#chatCounts(account, amount) : this.#audioCounts(account, amount / 2n);
    const hold = isChat ? { amount: nanoCredits(amount), price } : undefined;
    const { id, outcome } = await this.#books.reserve(account.id, { hold, counted });
    const running = { id, account: account.id, hold: hold?.amount, counted };
    const expected = this.#expected.refusalOf(running) ?? 'reserved';
    expect(outcomeOf(outcome)).toBe(expected);
    this.#note(expected);
    if (expected !== 'reserved') return;
    this.#expected.reserve(running);
    this.running.push(running);
  }

  async #extend(running: Running): Promise<void> {
    if (running.hold !== undefined) return;
    const rise = BigInt(this.#below(30));
    const counted = running.counted.map((one) => ({ ...one, amount: one.amount + rise }));
    const more = counted.map((one) => ({ ...one, amount: rise }));
    const expected = this.#expected.excess(more);
    expect((await this.#books.extend(running.id, counted))?.unit).toBe(expected);
    this.#note(expected ? `not extended: ${expected}` : 'extended');
    if (expected === undefined) this.#expected.extend(running, counted);
  }

  async #settle(running: Running): Promise<void> {
    const { hold, counted } = running;
    const state = endStates[this.#below(endStates.length)] ?? 'ok';
    const hasOutput = state === 'ok' || this.#below(3) > 0;
    // Whoever leaves after output pays, and so does audio that is refused after output. A refused chat costs nothing.
    const isSpent = hasOutput && state !== 'failed';
    const cost =
      hold !== undefined && isSpent && state !== 'refused' ? hold / 2n + BigInt(this.#below(120)) : undefined;
    const reserved = Number(counted[0]?.amount ?? 0n);
    const fairUseUnits = hold === undefined ? (isSpent ? this.#below(reserved + 1) : 0) : undefined;
    const recorded = await this.#books.settle(running.id, endOf(state, hasOutput, cost, fairUseUnits));
    this.running.splice(this.running.indexOf(running), 1);
    const fairUse = BigInt(fairUseUnits ?? 0);
    const { debit, overrun } = this.#expected.settle(running, { cost, fairUse, keepsCounts: isSpent });
    expect(recorded.cost ?? 0n).toBe(debit);
    expect(recorded.overrun ?? 0n).toBe(overrun);
    this.#note(overrun > 0n ? 'over its hold' : `${state}${hasOutput ? ' after output' : ''}`);
  }

  async #enter({ id }: Account): Promise<void> {
    const amount = BigInt(this.#below(700) - 250);
    const reference = `r${this.#below(400)}`;
    const kind = amount < 0n ? 'adjustment' : 'load';
    const outcome = await this.#books.enter(id, amount, reference);
    expect(outcome).toBe(this.#expected.enter(id, kind, amount, reference));
  }

  async #compare({ id }: Account): Promise<void> {
    const { balance, held } = this.#expected.credits(id);
    const funds = await this.#books.funds(id);
    if (funds.balance !== balance || funds.held !== held) expect(funds).toEqual({ balance, held });
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

  #below(count: number): number {
    return Math.floor(this.#random() * count);
  }
}

function endOf(
  state: (typeof endStates)[number],
  hasOutput: boolean,
  cost: bigint | undefined,
  fairUseUnits: number | undefined,
): RecordEnd {
  return {
    state,
    fairUseUnits,
    httpStatus: 200,
    code: undefined,
    firstOutputMs: hasOutput ? 1 : undefined,
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
