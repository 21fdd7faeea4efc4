/** The alerts that are due for an account. */
import { expect, it } from 'vitest';
import { dueAlerts } from '../../../src/core/alerts/conditions.ts';
import type { AlertMark, WatchedAccount } from '../../../src/core/entities/alert.ts';
import { newAccountId } from '../../../src/core/values/ids.ts';
import { nanoCredits } from '../../../src/core/values/money.ts';
import { alertSettings } from '../../support/alert-settings.ts';

const id = newAccountId(1);
const nowMs = Date.UTC(2026, 10, 28, 12);
const noMoney = { balance: nanoCredits(0n), held: nanoCredits(0n) };
const never = { limits: undefined, suspendedAtMs: undefined, deletedAtMs: undefined };
const account = { id, name: 'a', createdAtMs: 1, ...noMoney, ...never };

it('raises a percent of fair use once in a month, also if nodes differ in the allowance', () => {
  const marks: AlertMark[] = [];
  const dueWith = (planUnitsPerMonth: number, percents: readonly number[]) => {
    const watched: WatchedAccount = {
      account: {
        ...account,
        subscription: { plan: { startsAtMs: 1, endsAtMs: nowMs + 86_400_000 * 30 }, trial: undefined },
      },
      settings: alertSettings({ percents, balanceBelow: undefined }),
      unitsUsed: 50n,
      latestLoad: '',
      keys: [],
      usedCredits: () => 0n,
      marks,
    };
    const fairUse = {
      planUnitsPerMonth,
      trialUnitsPerMonth: 1,
      speechUnitsPerCharacter: 1,
      transcriptionUnitsPerSecond: 1,
    };
    const due = dueAlerts(watched, { nowMs, accessNowMs: nowMs, fairUse });
    for (const { mark } of due) marks.splice(0, 1, mark);
    return due.map(({ details }) => `${details.percent} of ${details.limit}`);
  };
  expect(dueWith(100, [50])).toEqual(['50 of 100']);
  expect(dueWith(90, [50])).toEqual([]);
  expect(dueWith(100, [50])).toEqual([]);
  expect(dueWith(50, [50, 100])).toEqual(['100 of 50']);
});
