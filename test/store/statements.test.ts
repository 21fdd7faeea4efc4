/** Statements of random ledgers, on each database, also of requests over the end of a month and after pruning. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Statement } from '../../src/core/entities/ledger.ts';
import type { Store } from '../../src/core/entities/store.ts';
import {
  type AccountId,
  type KeyId,
  newAccountId,
  newKeyId,
  newLedgerEntryId,
} from '../../src/core/values/ids.ts';
import { nanoCredits } from '../../src/core/values/money.ts';
import { inGroups } from '../support/in-groups.ts';
import { Random } from '../support/random.ts';
import { seed } from '../support/seed.ts';
import { newStoreFolder, type StoreFolder } from '../support/store-folder.ts';
import { addAccount, auditEntry } from '../support/stored-key.ts';
import { recordEnd, recordStart } from '../support/usage-record.ts';

const hourMs = 3_600_000;
/** The first moments of months. */
const months = [9, 10, 11, 12].map((month) => Date.UTC(2026, month, 1));
const price = { inputPerMillion: nanoCredits(1n), outputPerMillion: nanoCredits(1n) };

interface Entered {
  readonly kind: 'load' | 'debit' | 'adjustment';
  readonly model: string | undefined;
  readonly keyId: string | undefined;
  readonly amount: bigint;
  readonly atMs: number;
  /** The request of a debit. */
  readonly request?: string;
}

let folder: StoreFolder;
let store: Store;
beforeEach(async () => {
  folder = await newStoreFolder();
  store = await folder.open();
});
afterEach(async () => {
  await store.close();
  await folder.remove();
});

async function openAccount(): Promise<[AccountId, KeyId, KeyId]> {
  const accountId = newAccountId(1);
  const keys: [KeyId, KeyId] = [newKeyId(1), newKeyId(1)];
  await addAccount(store, accountId, keys);
  return [accountId, ...keys];
}

async function enter(accountId: AccountId, kind: 'load' | 'adjustment', amount: bigint, atMs: number) {
  const id = newLedgerEntryId(atMs);
  const entry = { id, accountId, kind, amount: nanoCredits(amount), reason: 'r', reference: id };
  await store.ledger.enter({ ...entry, createdAtMs: atMs }, auditEntry());
  return { kind, model: undefined, keyId: undefined, amount, atMs };
}

async function debit(
  accountId: AccountId,
  keyId: KeyId,
  model: string,
  cost: bigint,
  span: readonly number[],
) {
  const [startedAtMs = 0, durationMs = 0] = span;
  const start = recordStart({ accountId, keyId }, { model, startedAtMs });
  await store.requests.reserve(start, { hold: { amount: nanoCredits(cost), price } });
  await store.requests.settle(start.id, recordEnd('ok', { cost: nanoCredits(cost), durationMs }));
  return {
    kind: 'debit' as const,
    model,
    keyId,
    amount: -cost,
    atMs: startedAtMs + durationMs,
    request: start.id,
  };
}

/** A moment, often the first or the last one of a month. */
function momentIn(random: Random): number {
  const [from = 0, until = 0] = months.slice(random.below(months.length - 1));
  return random.pick([from, until - 1, from + random.below(until - from)]);
}

function expected(entries: readonly Entered[], fromMs: number, untilMs: number): Statement {
  const sum = (of: readonly Entered[]) => nanoCredits(of.reduce((total, { amount }) => total + amount, 0n));
  const within = entries.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs);
  const lines = Map.groupBy(within, ({ kind, model, keyId }) => [kind, model, keyId].join(' '));
  return {
    opening: sum(entries.filter(({ atMs }) => atMs < fromMs)),
    closing: sum(entries.filter(({ atMs }) => atMs < untilMs)),
    lines: [...lines.values()].flatMap((group) => {
      const [first] = group;
      if (first === undefined) return [];
      const { kind, model, keyId } = first;
      return [{ kind, model, keyId, entries: BigInt(group.length), amount: sum(group) }];
    }),
  };
}

async function compare(accountId: AccountId, entries: readonly Entered[]): Promise<void> {
  for (const [index, fromMs] of months.slice(0, -1).entries()) {
    const untilMs = months[index + 1] ?? fromMs;
    const statement = await store.ledger.statement(accountId, { fromMs, untilMs });
    const wanted = expected(entries, fromMs, untilMs);
    expect(statement).toEqual({ ...wanted, lines: expect.anything() });
    expect(new Set(statement.lines)).toEqual(new Set(wanted.lines));
  }
}

it('a statement has the sums of the ledger, to the nano-credit', async () => {
  const random = new Random(seed);
  const [accountId, ...keys] = await openAccount();
  const [otherId, otherKey] = await openAccount();
  const first = months[0] ?? 0;
  const entries: Entered[] = [await enter(accountId, 'load', 10n ** 16n, first - 40 * 24 * hourMs)];
  await enter(otherId, 'load', 10n ** 12n, first);
  await debit(otherId, otherKey, 'a', 7n, [first, 1]);
  const model = () => random.pick(['a', 'b', 'c']);
  const amount = () => BigInt(random.below(2 ** 32)) + 1n;
  for (let turn = 0; turn < 150; turn++) {
    const atMs = momentIn(random);
    const kind = random.pick(['load', 'adjustment', 'debit', 'debit', 'debit'] as const);
    const span = [atMs, random.pick([1, 2, random.below(24 * hourMs)])];
    if (kind === 'debit') entries.push(await debit(accountId, random.pick(keys), model(), amount(), span));
    else if (kind === 'load') entries.push(await enter(accountId, kind, amount(), atMs));
    else entries.push(await enter(accountId, kind, random.pick([1n, -1n]) * amount(), atMs));
  }
  // More entries than one step reads.
  const many = Array.from({ length: 1_100 }, () => [momentIn(random), 2]);
  entries.push(...(await inGroups(many, (span) => debit(accountId, keys[0], 'a', 1n, span))));
  await compare(accountId, entries);

  const recordsBeforeMs = months[1] ?? 0;
  await store.usage.prune({ recordsBeforeMs, answersBeforeMs: 0 }, 10_000, auditEntry());
  const { items } = await store.usage.list({ accountId }, { size: 10_000, after: undefined });
  const kept = new Set<string>(items.map(({ id }) => id));
  const keyless = entries.map((entry) =>
    kept.has(entry.request ?? '') ? entry : { ...entry, keyId: undefined },
  );
  expect(keyless).not.toEqual(entries);
  await compare(accountId, keyless);
});
