/**
 * An upstream sends wrong reports, breaks off, or does not answer, while nodes are killed. No report takes a balance
 * below zero, exceeds a budget, or charges more than the request allowed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { servedModel } from '../support/behind-upstream.ts';
import type { BookedRecord } from '../support/books.ts';
import { chunk, completion } from '../support/chat-answers.ts';
import type { Serving } from '../support/command-line.ts';
import { Nodes } from '../support/postgres/nodes.ts';
import type { Random } from '../support/random.ts';
import { type Answer, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { events, failure, json, resetAtOnce } from '../support/upstream-answers.ts';
import { missingPostgres, startPostgres } from './postgres-cluster.ts';
import type { Round, Scenario } from './scenario.ts';

const model = { ...servedModel, contextTokens: 8_192, outputTokensMax: 512 };
const nanoCreditsPerToken = 1_000n;
const clientsAtOnce = 8;
const kills = 4;
const answersEach = 25;

const numbers = [0, 1, 7, 8_192, 1e9, Number.MAX_SAFE_INTEGER, 1e300, -1, -1e9, 0.5, 3.7];
const wrong = [null, 'many', '12', [], {}, true];

export const postgresUpstream: Scenario = {
  missing: missingPostgres,
  async play(round) {
    const { random } = round;
    const upstream = await startScriptedUpstream();
    round.defer(() => upstream.stop());
    const lie: Answer = (exchange) => lieOf(random, exchange.request.json.stream === true)(exchange);
    upstream.answer('/chat/completions', lie);
    const engine = {
      kind: 'openai',
      baseUrl: upstream.baseUrl,
      models: { served: 'm' },
      outputLimit: 'max_tokens',
    };
    const settings = { engines: { upstream: engine }, models: [model] };
    const nodes = await Nodes.create(await startPostgres(round), random, settings);
    round.defer(() => nodes.close());
    const running: Serving[] = [];
    round.defer(() => Promise.all(running.map((node) => node.end())));
    for (let n = 0; n < 3; n++) running.push(await nodes.serve());
    const askers = new Askers(nodes, running, round);
    const asking = askers.ask();
    for (let kill = 0; kill < kills; kill++) {
      await askers.answered(random.below(answersEach));
      const at = random.below(running.length);
      running[at]?.kill('SIGKILL');
      round.kills++;
      running[at] = await nodes.serve();
    }
    await askers.answered(answersEach);
    askers.isDone = true;
    await asking;
    const { records } = await nodes.settledBooks();
    expect(records.filter(isTooMuch)).toEqual([]);
    const byId = new Map(records.map((record) => [record.id, record]));
    expect(askers.usages.filter(({ id, usage }) => !isAs(usage, byId.get(id)))).toEqual([]);
    const estimated = records.filter(({ tokensSource }) => tokensSource === 'estimated').length;
    return `${records.length} requests, ${askers.usages.length} answers, ${estimated} reports counted here`;
  },
};

/** More tokens than the model can have read or was allowed to write. */
function isTooMuch({ promptTokens = 0, completionTokens = 0, cost = 0n }: BookedRecord): boolean {
  const tokensMax = BigInt(model.contextTokens + model.outputTokensMax);
  return (
    promptTokens > model.contextTokens ||
    completionTokens > model.outputTokensMax ||
    cost > tokensMax * nanoCreditsPerToken
  );
}

interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

function isAs(usage: Usage, record: BookedRecord | undefined): boolean {
  if (record?.state !== 'ok') return false;
  const { promptTokens, completionTokens, cost = 0n, overrun = 0n } = record;
  const isSame = promptTokens === usage.prompt_tokens && completionTokens === usage.completion_tokens;
  const tokens = BigInt(usage.prompt_tokens + usage.completion_tokens);
  return isSame && cost + overrun === tokens * nanoCreditsPerToken;
}

function lieOf(random: Random, isStream: boolean): Answer {
  if (random.onceIn(10)) return random.pick([failure(500), failure(429), resetAtOnce]);
  const some = () => (random.onceIn(4) ? random.pick(wrong) : random.pick(numbers));
  const numbersOf = () => ({
    prompt_tokens: some(),
    completion_tokens: some(),
    total_tokens: some(),
    ...(random.onceIn(3) && { prompt_tokens_details: { cached_tokens: some() } }),
    ...(random.onceIn(3) && { completion_tokens_details: { reasoning_tokens: some() } }),
  });
  const report = random.onceIn(5)
    ? random.pick([{}, { usage: null }, { usage: 'none' }])
    : { usage: numbersOf() };
  if (!isStream) return json(completion('I hear you.', { usage: undefined, ...report }));
  const reports = Array.from({ length: random.below(3) }, () => ({ ...chunk({}), choices: [], ...report }));
  const parts = [chunk({ content: 'I ' }), chunk({ content: 'hear.' }), chunk({}, { finish_reason: 'stop' })];
  const isCut = random.onceIn(6);
  return events(isCut ? parts.slice(0, 2) : [...parts, ...reports], {
    done: !isCut,
    ending: isCut && random.onceIn(2) ? 'reset' : 'end',
  });
}

/** Clients of two keys, one with a small budget. */
class Askers {
  readonly #nodes: Nodes;
  readonly #running: readonly Serving[];
  readonly #random: Random;
  readonly usages: { readonly id: string; readonly usage: Usage }[] = [];
  #ended = 0;
  isDone = false;

  constructor(nodes: Nodes, running: readonly Serving[], { random }: Round) {
    this.#nodes = nodes;
    this.#running = running;
    this.#random = random;
  }

  async ask(): Promise<void> {
    const ask = async () => {
      while (!this.isDone) await this.#ask().catch(() => sleep(50));
    };
    await Promise.all(Array.from({ length: clientsAtOnce }, ask));
  }

  /** Resolves when so many more requests were answered, with an error or not. */
  async answered(count: number): Promise<void> {
    const enough = this.#ended + count;
    while (this.#ended < enough) await sleep(10);
  }

  async #ask(): Promise<void> {
    const random = this.#random;
    const { apiKey, frugalKey } = this.#nodes.keys;
    const { baseUrl } = random.pick(this.#running);
    const stream = random.onceIn(2);
    const body = {
      model: model.id,
      stream,
      messages: [{ role: 'user', content: 'Hello.' }],
      ...(random.onceIn(2) && { max_tokens: random.pick([1, 20, 512]) }),
      ...(stream && random.onceIn(2) && { stream_options: { include_usage: true } }),
    };
    const response = await fetch(`${baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${random.onceIn(3) ? frugalKey : apiKey}` },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    this.#ended++;
    if (!response.ok) return;
    const isWhole = !stream || text.endsWith('data: [DONE]\n\n');
    const parts = stream
      ? text.split('\n\n').filter((part) => part.startsWith('data: {'))
      : [`data: ${text}`];
    const usage = parts.map((part) => JSON.parse(part.slice('data: '.length)).usage).findLast(Boolean);
    if (isWhole) this.usages.push({ id: response.headers.get('x-request-id') ?? '', usage });
  }
}
