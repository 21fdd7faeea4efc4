/** The rules of money alone, on rows in memory: random steps beside a model of plain variables. */
import { describe, expect, it } from 'vitest';
import type { Amounts, Books, Funds, HeldAmounts } from '../../../src/core/books/books.ts';
import { outcomeBefore } from '../../../src/core/books/enter.ts';
import { extend, isRefusal, reserve } from '../../../src/core/books/reserve.ts';
import { charge, raiseHold, release, riseOf } from '../../../src/core/books/settle.ts';
import type { LedgerEntry } from '../../../src/core/entities/ledger.ts';
import { Meter } from '../../../src/core/entities/rates.ts';
import type { Reservation } from '../../../src/core/entities/reservation.ts';
import {
  type AccountId,
  newAccountId,
  newKeyId,
  newLedgerEntryId,
  type RequestId,
} from '../../../src/core/values/ids.ts';
import { nanoCredits } from '../../../src/core/values/money.ts';
import { BooksModel, type Books as Played } from '../../support/books-model.ts';
import { fairUse, outcomeOf } from '../../support/reservations.ts';
import { seed } from '../../support/seed.ts';
import { isWhole } from '../../support/tier.ts';

const steps = isWhole ? 1_000_000 : 100_000;
/** A hundred times what the steps take on an idle machine. */
const msMax = steps * 5;

class Rows implements Books {
  readonly #funds = new Map<AccountId, Funds>();
  readonly #counts = new Map<string, Amounts>();
  readonly #meters = new Map<string, Meter>();

  funds(id: AccountId): Funds {
    return getOr(this.#funds, id, () => ({ balance: 0n, held: 0n, policyVersion: 1n }));
  }

  count({ owner, unit, period }: Parameters<Books['count']>[0]): Amounts {
    return getOr(this.#counts, `${owner} ${unit} ${period}`, () => ({ used: 0n, reserved: 0n }));
  }

  isNew(): boolean {
    return false;
  }

  meter(owner: string): Meter {
    return getOr(this.#meters, owner, () => new Meter());
  }
}

function getOr<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

/** Runs the rules like a store that keeps a hold while a debit is written. */
function played(rows: Rows): Played {
  const running = new Map<RequestId, HeldAmounts>();
  const entries = new Map<string, LedgerEntry>();
  const of = (id: RequestId) => running.get(id) ?? expect.fail(`${id} does not run`);
  let count = 0;
  return {
    reserve(accountId, reservation) {
      const id = `req_${++count}` as RequestId;
      const outcome = reserve(rows, accountId, reservation);
      if (isRefusal(outcome)) return { id, outcome };
      running.set(id, outcome);
      return { id, outcome: { kind: 'reserved' } };
    },
    extend(id, counted) {
      const outcome = extend(rows, of(id), counted);
      if (isRefusal(outcome)) return outcome;
      running.set(id, outcome);
      return undefined;
    },
    settle(id, end) {
      const reserved = of(id);
      const recorded = charge(rows, reserved, end);
      const rise = riseOf(reserved, recorded);
      raiseHold(rows, reserved, rise);
      const { balance, held } = rows.funds(reserved.accountId);
      if (held > balance) expect.fail(`${held} are held of ${balance}`);
      raiseHold(rows, reserved, -rise);
      release(rows, reserved, recorded);
      running.delete(id);
      return recorded;
    },
    enter(accountId, amount, reference) {
      const entry = entryOf(accountId, amount, reference);
      const name = `${accountId} ${reference}`;
      const outcome = outcomeBefore(rows.funds(accountId), entry, entries.get(name));
      if (outcome) return outcome;
      entries.set(name, entry);
      rows.funds(accountId).balance += amount;
      return 'entered';
    },
    funds: (accountId) => rows.funds(accountId),
    taken: (counts) => counts.map((one) => rows.count(one).used + rows.count(one).reserved),
  };
}

function entryOf(accountId: AccountId, amount: bigint, reference: string): LedgerEntry {
  const kind = amount < 0n ? 'adjustment' : 'load';
  const id = newLedgerEntryId(1);
  return { id, accountId, kind, amount: nanoCredits(amount), reason: 'r', reference, createdAtMs: 1 };
}

const accountId = newAccountId(1);
const keyId = newKeyId(1);

it(`the rules of money hold in ${steps} random steps`, { timeout: msMax }, async () => {
  const accounts = new Map([accountId, newAccountId(2)].map((id) => [id, newKeyId(1) as string]));
  const model = new BooksModel(played(new Rows()), accounts, seed);
  for (let step = 0; step < steps; step += 1_000) {
    await model.play(1_000);
    await model.check();
  }
  const outcomes = ['reserved', 'balance', 'fair_use', 'characters', 'credits', 'over its hold', 'extended'];
  for (const state of ['failed', 'cancelled', 'refused']) outcomes.push(state, `${state} after output`);
  expect([...model.outcomes.keys()]).toEqual(expect.arrayContaining(outcomes));
});

describe('a request that nothing covers', () => {
  const price = { inputPerMillion: nanoCredits(1n), outputPerMillion: nanoCredits(1n) };
  const limits = { requestsPerMinute: 0, concurrentRequests: 0, tokensPerMinute: 0 };
  const budget = { owner: keyId, unit: 'credits', period: 'all', amount: 5n, limit: 1n } as const;
  const conditions: readonly (readonly [unit: string, wanted: Reservation])[] = [
    ['policy_changed', { policyVersion: 2n }],
    ['fair_use', { counted: [budget, fairUse(accountId, 5, 1)] }],
    ['balance', { hold: { amount: nanoCredits(5n), price } }],
    ['credits', { counted: [budget] }],
    ['requests', { rates: { owners: [{ id: keyId, limits }], tokens: 1 } }],
    [
      'running',
      { rates: { owners: [{ id: keyId, limits: { ...limits, requestsPerMinute: 1 } }], tokens: 1 } },
    ],
    ['tokens', { rates: { owners: [{ id: keyId, limits: { tokensPerMinute: 0 } }], tokens: 1 } }],
  ];

  it.each(conditions.map(([unit], at) => [unit, at] as const))(
    'is refused by %s before all later conditions',
    (unit, at) => {
      const rows = new Rows();
      const following = conditions.slice(at).map(([, one]) => one);
      const wanted: Reservation = Object.assign({}, ...following.reverse());
      const outcome = reserve(rows, accountId, wanted);
      expect(isRefusal(outcome) && outcomeOf(outcome)).toBe(unit);
      expect(rows.funds(accountId).held).toBe(0n);
      expect(rows.meter(keyId)).toMatchObject({ requests: 0, running: 0, tokens: 0 });
      for (const one of wanted.counted ?? []) expect(rows.count(one)).toEqual({ used: 0n, reserved: 0n });
    },
  );

  it('names the owner of the limit, and the amount that others have taken', () => {
    const rows = new Rows();
    rows.count(budget).used = 1n;
    const outcome = reserve(rows, accountId, { counted: [budget] });
    expect(outcome).toEqual({ ...budget, kind: 'limit_reached', taken: 1n });
  });
});
