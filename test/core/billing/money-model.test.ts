/**
 * Random histories of two accounts: overlapping requests with every outcome, loads and adjustments, changes of month, restarts and
 * kills. After each step the program's books equal those of a simple model of the rules.
 *
 *   PARLEY_MODEL_RUNS=2000 TEST_SEED=7 npm test -- test/core/billing/money-model.test.ts
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TokenCounter } from '../../../src/core/entities/engine.ts';
import { createTokenCounter } from '../../../src/tokens/counter.ts';
import type { BookedCount, BookedRecord } from '../../support/books.ts';
import { MoneyModel } from '../../support/money-model.ts';
import { MoneyFolder, MoneyProgram } from '../../support/money-program.ts';
import { type ExpectedRecord, prompt, type TextTokens, word } from '../../support/money-rules.ts';
import {
  type AccountName,
  accountNames,
  concerns,
  histories,
  type Request,
  rareHistory,
  type Step,
} from '../../support/money-steps.ts';
import { TestClock } from '../../support/parley.ts';
import { testsPostgres } from '../../support/store-folder.ts';
import { isFirstTier } from '../../support/tier.ts';

/** A copy of a database takes longer than that of a file. */
const runsByDefault = testsPostgres ? 3 : isFirstTier ? 10 : 25;
const runs = Number(process.env['PARLEY_MODEL_RUNS'] ?? runsByDefault);
/** With fewer steps some outcomes may not occur. */
const runsForAllEnds = 25;
const msPerRunMax = testsPostgres ? 120_000 : 30_000;
const wordsMax = 100;

const startMs = Date.UTC(2026, 10, 20, 12);
const clock = new TestClock(startMs);
let folder: MoneyFolder;
let tokens: TextTokens;
let counter: TokenCounter;
beforeAll(async () => {
  folder = await MoneyFolder.create(clock);
  counter = createTokenCounter();
  const ofPrompt = await counter.count(`user\n${prompt}`);
  const ofWords = await Promise.all(
    Array.from({ length: wordsMax }, (_, n) => counter.count(word.repeat(n))),
  );
  tokens = { prompt: ofPrompt, words: (count) => ofWords[count] ?? Number.NaN };
});
afterAll(async () => {
  await counter.close();
  await folder.remove();
});

interface Pair {
  /** Every request so far. */
  readonly asked: Request[];
  readonly model: MoneyModel;
  readonly program: MoneyProgram;
}

async function live(history: readonly Step[]): Promise<void> {
  clock.nowMs = startMs;
  const model = new MoneyModel(startMs, tokens, (name) => folder.ownersOf(name));
  const program = await MoneyProgram.start(folder);
  const pair = { asked: [], model, program };
  try {
    for (const step of history) {
      await take(step, pair);
      await compare(pair);
    }
  } finally {
    await program.close();
  }
  for (const name of accountNames) note([...model.records(name).values()]);
}

/** Runs a step in the program and in the model. Their answers must be equal. */
async function take(step: Step, pair: Pair): Promise<void> {
  const { asked, model, program } = pair;
  switch (step.step) {
    case 'request':
      asked.push(step.request);
      return ask(step.request, pair);
    case 'repeat': {
      const request = asked[step.which % asked.length];
      return request && ask(request, pair);
    }
    case 'act': {
      const running = model.running[step.which % model.running.length];
      if (running === undefined || !concerns(running.request, step.act)) return;
      expect(await program.act(running.id, step.act)).toBe(model.act(running, step.act));
      return;
    }
    case 'load':
      expect(await program.enter('load', step)).toBe(model.enter('load', step));
      return;
    case 'adjust':
      expect(await program.enter('adjustment', step)).toBe(model.enter('adjustment', step));
      return;
    case 'plan':
      await program.activatePlan(step.account, step.days);
      model.activatePlan(step.account, step.days);
      return;
    case 'time':
      model.pass(step.hours);
      clock.nowMs = model.nowMs;
      return;
    case 'restart':
      await program.restart();
      for (const running of model.running) model.act(running, { act: 'leave' });
      return;
    case 'kill': {
      await program.kill();
      const { records } = await program.books();
      model.kill((id) => records.some((record) => record.id === id));
    }
  }
}

async function ask(request: Request, { model, program }: Pair): Promise<void> {
  const { id, outcome } = await program.start(request);
  expect(outcome).toBe(model.start(id, request));
  const running = model.running.find((other) => other.id === id);
  if (running) expect(program.maxTokensOf(id)).toBe(running.maxTokens);
}

/** Every account and count in the model, in the books, and in the memory of the program. */
async function compare({ model, program }: Pair): Promise<void> {
  const books = await program.books();
  expect(books.faults).toEqual([]);
  const isWritten = (id: string) => books.records.some((record) => record.id === id);
  for (const name of accountNames) {
    const { balance, held, entries, records } = model.booked(name, isWritten);
    expect(await program.fundsOf(name)).toEqual(model.credits(name));
    const own = <Row extends { readonly account: string }>(rows: readonly Row[]) =>
      rows.filter(({ account }) => account === name);
    expect(books.accounts).toContainEqual({ name, balance, held });
    const entered = own(books.entries).map(({ kind, amount, reference }) => [reference, { kind, amount }]);
    expect(Object.fromEntries(entered)).toEqual(Object.fromEntries(entries));
    const booked = own(books.records).map((record) => [record.id, asExpected(record)]);
    expect(Object.fromEntries(booked)).toEqual(Object.fromEntries(records));
  }
  const counts = model.books.counts();
  expect(await program.taken(counts)).toEqual(counts.map((count) => model.books.taken(count)));
  const fairUse = books.units.map(({ account, month, used, reserved }) => {
    const owner = folder.ownersOf(account as AccountName).account;
    return { owner, unit: 'fair_use', period: month, used: BigInt(used), reserved: BigInt(reserved) };
  });
  expect(byName([...books.counts, ...fairUse])).toEqual(byName(counts));
}

/** Counts that are not 0. SQLite has reserved amounts in memory only. */
function byName(counts: readonly BookedCount[]): Readonly<Record<string, readonly bigint[]>> {
  const amounts = counts.map(({ owner, unit, period, used, reserved = 0n }) => {
    return [`${owner} ${unit} ${period}`, [used, testsPostgres ? reserved : 0n]] as const;
  });
  return Object.fromEntries(amounts.filter(([, [used, reserved]]) => used + reserved > 0n));
}

/** The model has no tokens for requests that are not charged. */
function asExpected(record: BookedRecord): ExpectedRecord {
  const { state, httpStatus: status, code, units, cost, overrun } = record;
  const { promptTokens = 0, completionTokens = 0, tokensSource = '' } = record;
  const { cachedTokens = 0, cacheWriteTokens = 0 } = record;
  const charged = [promptTokens, completionTokens, tokensSource, cachedTokens, cacheWriteTokens] as const;
  return { state, status, code, units, cost, overrun, tokens: cost === undefined ? undefined : charged };
}

/** Outcomes of requests, to check that the histories contain them. */
const ends = new Set<string>();

/** Outcomes that every run has many times. */
const endsThatMatter = [
  'ok for credits',
  'ok for units',
  'cancelled request_cancelled',
  'failed upstream_error',
  'interrupted internal_error',
  'refused budget_exceeded',
  'ok over its hold',
];

function note(records: readonly ExpectedRecord[]): void {
  for (const { state, code, overrun, cost = 0n, units = 0 } of records) {
    const charge = overrun
      ? 'over its hold'
      : cost > 0n
        ? 'for credits'
        : units > 0
          ? 'for units'
          : undefined;
    ends.add([state, code, charge].filter(Boolean).join(' '));
  }
}

describe('the rules of money', () => {
  it('are kept after each step of a random history', { timeout: 60_000 + runs * msPerRunMax }, async () => {
    await fc.assert(fc.asyncProperty(histories, live), {
      numRuns: runs,
      examples: [[rareHistory]],
      // The search for a smaller case takes minutes.
      endOnFailure: process.env['PARLEY_MODEL_RUNS'] === undefined,
    });
    if (runs >= runsForAllEnds) expect([...ends]).toEqual(expect.arrayContaining(endsThatMatter));
  });
});
