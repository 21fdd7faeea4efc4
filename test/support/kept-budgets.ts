/** Budgets and limits of the accounts and keys of paying clients, and their counts in the books. */
import { expect } from 'vitest';
import type { Books } from './books.ts';

/** More than any test uses. */
const enough = {
  requests_per_minute: 1_000_000,
  tokens_per_minute: 1_000_000_000,
  concurrent_requests: 10_000,
  audio_seconds_per_day: 1_000_000,
  characters_per_day: 1_000_000_000,
  budgets: { day: '1000', month: '1000', total: '1000' },
};
/** Credits for some fifty short chats. */
const little = { credits: '0.0005', nanoCredits: 500_000n };

type Admin = (path: string, body: object) => Promise<unknown>;

/** Sets every limit of an account and its key, before they are used. @param isFrugal with a total budget that will be used up */
export async function setLimits(
  admin: Admin,
  account: string,
  keyId: string,
  isFrugal = false,
): Promise<void> {
  const limits = isFrugal ? { ...enough, budgets: { ...enough.budgets, total: little.credits } } : enough;
  await admin(`/accounts/${account}/limits`, { limits: enough });
  await admin(`/keys/${keyId}/limits`, { limits });
}

/** Compares the counts with the records, all of which were made under these limits. No request may be running. */
export function checkCounts({ counts, records }: Books): void {
  const expected = new Map<string, bigint>();
  for (const { owners, startedAtMs, cost, characters, audioMsIn, state } of records) {
    const day = new Date(startedAtMs).toISOString().slice(0, 10);
    const ofOk = (amount = 0) => (state === 'ok' ? BigInt(amount) : 0n);
    for (const owner of owners) {
      for (const [name, amount] of [
        ...[day, day.slice(0, 7), 'all'].map((period) => [`${owner} credits ${period}`, cost ?? 0n] as const),
        [`${owner} characters ${day}`, ofOk(characters)] as const,
        [`${owner} audio_seconds ${day}`, ofOk(Math.ceil((audioMsIn ?? 0) / 1_000))] as const,
      ]) {
        if (amount > 0n) expected.set(name, (expected.get(name) ?? 0n) + amount);
      }
    }
  }
  const used = counts
    .filter((count) => count.used > 0n)
    .map((count) => [`${count.owner} ${count.unit} ${count.period}`, count.used]);
  expect(Object.fromEntries(used)).toEqual(Object.fromEntries(expected));
  expect(counts.filter(({ reserved = 0n }) => reserved !== 0n)).toEqual([]);
  const frugal = new Set(records.flatMap(({ account, owners }) => (account === 'frugal' ? owners[1] : [])));
  const over = counts.filter(
    ({ owner, period, used }) => frugal.has(owner) && period === 'all' && used > little.nanoCredits,
  );
  expect(over).toEqual([]);
}
