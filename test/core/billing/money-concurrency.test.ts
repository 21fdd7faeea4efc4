/** Reserves for thousands of requests at once. None ends before all are decided. The sums must be exact. */
import { create } from '@bufbuild/protobuf';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ChatCompletionSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { ParleyError } from '../../../src/core/values/errors.ts';
import { formatCredits, nanoCredits } from '../../../src/core/values/money.ts';
import { ConnectedClient, type PlainAnswer } from '../../support/connected-client.ts';
import { fakeChat, fakeSpeech, withFakes } from '../../support/fake-engines.ts';
import {
  type ErrorBody,
  type Parley,
  type ParleyOptions,
  startParley,
  TestClock,
} from '../../support/parley.ts';

const requests = 2_000;
const covered = 100;
const limits = { connectionsMax: 2 * requests, connectionsPerAddressMax: 2 * requests, keepAliveMs: 60_000 };
const timeout = 180_000;

/** Holds engines until it is opened, and counts decided requests: those at an engine, and answered ones. */
class Barrier {
  readonly #opened = Promise.withResolvers<void>();
  #atEngine = 0;
  #refused = 0;

  /** Called by an engine. When it may continue, resolves to its place among the waiting ones. */
  async wait(): Promise<number> {
    const place = this.#atEngine++;
    await this.#opened.promise;
    return place;
  }

  /** Called by a client with the outcome of its request. */
  async outcomeOf(sent: Promise<PlainAnswer>): Promise<string> {
    const { status, body } = await sent;
    if (status === 200) return '200';
    this.#refused++;
    const { error } = JSON.parse(body) as ErrorBody;
    return `${status} ${error.code}`;
  }

  async decided(count: number): Promise<void> {
    await vi.waitUntil(() => this.#atEngine + this.#refused >= count, { timeout, interval: 20 });
  }

  open(): void {
    this.#opened.resolve();
  }
}

function tally(outcomes: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

describe(`${requests} requests at once`, { timeout }, () => {
  let parley: Parley;
  let client: ConnectedClient;
  const start = async (options: ParleyOptions) => {
    parley = await startParley(options);
    client = await ConnectedClient.open(parley.baseUrl, requests);
  };
  afterEach(async () => {
    client.close();
    await parley.close();
  });

  it('hold exactly the available credits', async () => {
    const barrier = new Barrier();
    const complete = async () => {
      await barrier.wait();
      return create(ChatCompletionSchema, {
        choices: [{ message: { role: 'assistant' }, finishReason: 'stop' }],
        usage: { promptTokens: 10, completionTokens: 20, totalTokens: 30 },
      });
    };
    await start({ settings: { server: limits }, engines: withFakes({ chat: fakeChat({ complete }) }) });
    // The default price of eliza: 100 nano-credits per prompt token, 400 per answer token.
    const body = { model: 'eliza', max_tokens: 50, messages: [{ role: 'user', content: 'Hello.' }] };
    const hold = 100n * BigInt(JSON.stringify(body).length) + 400n * 50n;
    const cost = 100n * 10n + 400n * 20n;
    const credits = BigInt(covered) * hold;
    const key = await parley.newKey({ credits: formatCredits(nanoCredits(credits)) });
    const account = 'account-2';

    const outcomes = Array.from({ length: requests }, () =>
      barrier.outcomeOf(client.postJson('/chat/completions', body, key)),
    );
    await barrier.decided(requests);
    const running = await parley.books();
    expect(running.accounts).toContainEqual({ name: account, balance: credits, held: credits });
    barrier.open();

    expect(tally(await Promise.all(outcomes))).toEqual({
      '200': covered,
      '402 insufficient_credits': requests - covered,
    });
    const books = await parley.books();
    expect(books.faults).toEqual([]);
    const balance = credits - BigInt(covered) * cost;
    expect(books.accounts).toContainEqual({ name: account, balance, held: 0n });
    // A busy machine refuses some requests first, which come again.
    const decided = books.records.filter(({ code }) => code !== 'overloaded');
    expect(tally(decided.map(({ state }) => state))).toEqual({ ok: covered, refused: requests - covered });
    expect(books.entries.filter(({ kind }) => kind === 'debit').length).toBe(covered);
  });

  it('reserve exactly the units of their month, across the end of a month', async () => {
    const barrier = new Barrier();
    const clock = new TestClock(Date.UTC(2026, 11, 1) - 1);
    const input = 'Hello.';
    const trialUnitsPerMonth = covered * input.length;
    async function* audio() {
      // Every other engine fails, and returns its units.
      if ((await barrier.wait()) % 2 === 1) throw new ParleyError('upstream_error');
      yield new Uint8Array(8);
    }
    const synthesize = () => ({ audio: audio(), durationMs: () => 1 });
    await start({
      clock,
      settings: { server: limits, fairUse: { trialUnitsPerMonth } },
      engines: withFakes({ speech: fakeSpeech({ synthesize }) }),
    });
    const key = await parley.newKey({ trial: true });
    const account = 'account-2';
    const speak = (count: number) =>
      Array.from({ length: count }, () =>
        barrier.outcomeOf(client.postJson('/audio/speech', { model: 'flite', input }, key)),
      );

    const before = speak(requests / 2);
    await barrier.decided(requests / 2);
    clock.nowMs += 1;
    const after = speak(requests / 2);
    await barrier.decided(requests);
    const months = ['2026-11', '2026-12'];
    const { store } = parley.app;
    const owner = (await store.accounts.find(account))?.id ?? '';
    const counts = months.map((period) => ({ owner, unit: 'fair_use', period }) as const);
    const all = BigInt(trialUnitsPerMonth);
    expect(await store.requests.taken(counts)).toEqual([all, all]);
    barrier.open();

    expect(tally(await Promise.all([...before, ...after]))).toEqual({
      '200': covered,
      '502 upstream_error': covered,
      '402 fair_use_limit_reached': requests - 2 * covered,
    });
    const books = await parley.books();
    expect(books.faults).toEqual([]);
    expect(books.units).toEqual(
      months.map((month) => ({ account, month, used: trialUnitsPerMonth / 2, reserved: 0 })),
    );
  });
});
