/**
 * The program is killed at the moments that decide the state of a request: while its started record is being written,
 * after its first byte, and between the write of its end and its answer.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { servedModel } from '../support/behind-upstream.ts';
import { fileFaults, readBooks } from '../support/books.ts';
import { type Serving, scratchFolder, serve } from '../support/command-line.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { events, json, silence } from '../support/upstream-answers.ts';
import type { Round, Scenario } from './scenario.ts';

const killsEach = 6;
/** Nano-credits per token of the model `served`: one credit per million tokens. */
const tokenPrice = 1_000n;

export const sqliteMoments: Scenario = {
  async play(round) {
    const upstream = await startScriptedUpstream();
    round.defer(() => upstream.stop());
    const moments = [unanswered, streaming, settled];
    while (moments.length > 0) {
      const [moment] = moments.splice(round.random.below(moments.length), 1);
      const victim = await Victim.start(round, upstream);
      await moment?.(victim);
    }
    return 'before its record, within a stream, before its answer';
  },
};

/** A request without an answer is interrupted or leaves no record. */
async function unanswered(victim: Victim): Promise<void> {
  victim.upstream.answer('/chat/completions', silence);
  for (let kill = 0; kill < killsEach; kill++) {
    const received = victim.upstream.nextRequest();
    const lost = victim.ask().catch(() => 'lost');
    await received;
    // The started record is written about 25 ms after the request arrives.
    await sleep(victim.round.random.between(20, 30));
    await victim.kill();
    expect(await lost).toBe('lost');
    for (const left of victim.statesLeft()) expect(left).toEqual(['interrupted', 0n]);
  }
  expect(victim.debits()).toBe(0);
}

/** A stream is interrupted once its first byte has left. */
async function streaming(victim: Victim): Promise<void> {
  const chunk = { choices: [{ index: 0, delta: { content: 'some' }, finish_reason: null }] };
  victim.upstream.answer('/chat/completions', events([chunk], { done: false, ending: 'stall' }));
  for (let kill = 1; kill <= killsEach / 2; kill++) {
    const response = await victim.ask(true);
    const reader = response.body?.getReader();
    await reader?.read();
    await victim.kill();
    await reader?.cancel().catch(() => undefined);
    expect(victim.statesLeft()).toEqual(Array.from({ length: kill }, () => ['interrupted', 0n]));
  }
}

/** A debit stays, once, if its answer was lost. */
async function settled(victim: Victim): Promise<void> {
  const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
  const message = { role: 'assistant', content: 'Yes.' };
  const answer = { choices: [{ index: 0, message, finish_reason: 'stop' }], usage };
  victim.upstream.answer('/chat/completions', json(answer));
  let answered = 0;
  for (let kill = 0; kill < killsEach; kill++) {
    const received = victim.upstream.nextRequest();
    const asked = victim.ask().then(
      () => answered++,
      () => undefined,
    );
    await received;
    await sleep(victim.round.random.below(6));
    await victim.kill();
    await asked;
    const left = victim.statesLeft();
    const paid = left.filter(([state]) => state === 'ok');
    expect(paid.length).toBeGreaterThanOrEqual(answered);
    for (const [, cost] of paid) expect(cost).toBe(10n * tokenPrice);
    for (const [state, cost] of left) expect(state === 'ok' || cost === 0n).toBe(true);
  }
}

/** A server with one account, and an upstream with scripted answers. */
class Victim {
  readonly round: Round;
  readonly upstream: ScriptedUpstream;
  readonly #dataDir: string;
  readonly #start: (...args: string[]) => Promise<Serving>;
  #serving: Serving | undefined;
  #key = '';

  private constructor(round: Round, upstream: ScriptedUpstream) {
    this.round = round;
    this.upstream = upstream;
    const folder = scratchFolder();
    round.defer(() => folder.remove());
    round.defer(() => this.#serving?.end());
    const models = { served: 'm' };
    const engine = { kind: 'openai', baseUrl: upstream.baseUrl, models, outputLimit: 'max_tokens' };
    const settings = { engines: { upstream: engine }, models: [servedModel] };
    writeFileSync(folder.file('parley.yaml'), JSON.stringify(settings));
    this.#dataDir = folder.file('data');
    this.#start = (...args) => serve(['--data-dir', this.#dataDir, ...args], { cwd: folder.path });
  }

  static async start(round: Round, upstream: ScriptedUpstream): Promise<Victim> {
    const victim = new Victim(round, upstream);
    victim.#serving = await victim.#start('--demo');
    victim.#key = JSON.parse(readFileSync(`${victim.#dataDir}/first-run.json`, 'utf8')).apiKey;
    return victim;
  }

  ask(stream = false): Promise<Response> {
    return fetch(`${this.#serving?.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#key}` },
      body: JSON.stringify({ model: 'served', stream, messages: [{ role: 'user', content: 'Hello.' }] }),
    });
  }

  async kill(): Promise<void> {
    this.#serving?.kill('SIGKILL');
    this.round.kills++;
    await this.#serving?.ended;
    this.#serving = await this.#start();
  }

  /** The states and costs of chats, after a check of the books. */
  statesLeft(): (readonly [string, bigint])[] {
    const { faults, accounts, records } = readBooks(this.#dataDir);
    expect([...faults, ...fileFaults(this.#dataDir)]).toEqual([]);
    expect(accounts).toMatchObject([{ held: 0n }]);
    return records.map(({ state, cost = 0n }) => [state, cost] as const);
  }

  debits(): number {
    return readBooks(this.#dataDir).entries.filter(({ kind }) => kind === 'debit').length;
  }
}
