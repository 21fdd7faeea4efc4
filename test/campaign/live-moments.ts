/**
 * The program is killed while somebody speaks, at the moments that decide the state of a turn: in a window, between two, while its
 * text is awaited, and between the write of its end and its text; and while it speaks an answer.
 */
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { BookedRecord, Books } from '../support/books.ts';
import { type Serving, scratchFolder, serve, until } from '../support/command-line.ts';
import { checkExact, openAccounts } from '../support/kept-promises.ts';
import { LiveClient } from '../support/live-client.ts';
import { RealtimeClient } from '../support/realtime-client.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { events, json, pieces, silence } from '../support/upstream-answers.ts';
import type { Round } from './scenario.ts';

const killsEach = 3;
const rate = 16_000;
const transcriptionUnitsPerSecond = 15;
const path = '/audio/transcriptions';
/** The clauses of an answer, and what its chat costs. */
const clauses = ['One, two, three. ', 'Four, five, six.'];
const chatNanoCredits = 10n * 100n + 20n * 400n;
const seconds = (count: number) => new Int16Array(count * rate);

/** Where a server keeps its books. */
export interface LiveStore {
  /** Settings of the server. */
  readonly settings: object;
  readBooks(dataDir: string): Promise<Books>;
}

export async function playLiveMoments(round: Round, store: LiveStore): Promise<string> {
  const upstream = await startScriptedUpstream();
  round.defer(() => upstream.stop());
  const victim = await Victim.start(round, upstream, store);
  const moments = [speaking, betweenWindows, pending, ended, answering];
  while (moments.length > 0) {
    const [moment] = moments.splice(round.random.below(moments.length), 1);
    for (let kill = 0; kill < killsEach; kill++) await moment?.(victim);
  }
  return 'in a window, between two, before a text, at its end, in an answer';
}

/** Somebody speaks in the first window. */
async function speaking(victim: Victim): Promise<void> {
  const client = await victim.openSession();
  client.speak(seconds(2));
  await victim.untilRunning(2);
  await sleep(victim.round.random.below(60));
  await victim.killIn(client);
  expect(client.events).toEqual([]);
}

/** The second window is being reserved, or has just been. */
async function betweenWindows(victim: Victim): Promise<void> {
  const client = await victim.openSession();
  client.speak(seconds(6.9));
  await victim.untilRunning(2);
  client.speak(seconds(0.2));
  await sleep(victim.round.random.below(12));
  await victim.killIn(client);
}

/** The text of a turn is awaited. */
async function pending(victim: Victim): Promise<void> {
  victim.upstream.answer(path, silence);
  const client = await victim.openSession();
  const received = victim.upstream.nextRequest();
  client.speak(seconds(1.5));
  client.commit();
  await received;
  await victim.killIn(client);
}

/** A turn is settled before its text leaves. */
async function ended(victim: Victim): Promise<void> {
  victim.upstream.answer(path, json({ text: 'Yes.' }));
  const client = await victim.openSession();
  const received = victim.upstream.nextRequest();
  client.speak(seconds(1.5));
  client.commit();
  await received;
  await sleep(victim.round.random.below(15));
  await victim.killIn(client, 2 * transcriptionUnitsPerSecond);
}

/** An answer is spoken: its chat has ended or not, as have its clauses. */
async function answering(victim: Victim): Promise<void> {
  const [first, second] = clauses.map((content) => ({ choices: [{ index: 0, delta: { content } }] }));
  const end = {
    choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 },
  };
  victim.upstream.answer('/chat/completions', events([first, second, end], { everyMs: 20 }));
  const part = new Uint8Array(4_800);
  victim.upstream.answer('/audio/speech', pieces(Array(6).fill(part), { everyMs: 10 }));
  const client = await victim.openConversation();
  client.send({ type: 'response.create' });
  await client.next('response.output_audio.delta');
  await sleep(victim.round.random.below(150));
  const records = await victim.restart();
  await client.closed;
  for (const { operation, state, units = 0, cost = 0n } of records) {
    expect(['ok', 'interrupted']).toContain(state);
    const isPaid = state === 'ok';
    if (operation === 'speech') expect(isPaid ? clauses.map(({ length }) => length) : [0]).toContain(units);
    if (operation === 'chat') expect(cost).toBe(isPaid ? chatNanoCredits : 0n);
  }
  const paid = records.filter(({ operation, state }) => operation === 'chat' && state === 'ok');
  expect(paid.length).toBeGreaterThanOrEqual(client.all('response.done').length);
}

class Victim {
  readonly round: Round;
  readonly upstream: ScriptedUpstream;
  readonly #store: LiveStore;
  readonly #dataDir: string;
  readonly #start: (...args: string[]) => Promise<Serving>;
  #serving: Serving | undefined;
  #key = '';
  /** The ids of the records that were checked. */
  readonly #checked = new Set<string>();

  private constructor(round: Round, upstream: ScriptedUpstream, store: LiveStore) {
    this.round = round;
    this.upstream = upstream;
    this.#store = store;
    const folder = scratchFolder();
    round.defer(() => folder.remove());
    round.defer(() => this.#serving?.end());
    const models = { heard: 'm', asked: 'm', spoken: 'm' };
    const engine = { kind: 'openai', baseUrl: upstream.baseUrl, models, voices: { one: 'en' } };
    const settings = {
      ...store.settings,
      engines: { upstream: engine },
      models: [
        { id: 'heard', type: 'transcription', engine: 'upstream' },
        {
          id: 'asked',
          type: 'chat',
          engine: 'upstream',
          contextTokens: 4_096,
          price: { input: '0.1', output: '0.4' },
        },
        { id: 'spoken', type: 'speech', engine: 'upstream' },
      ],
      realtime: [{ id: 'talk', chat: 'asked', speech: 'spoken' }],
      fairUse: { trialUnitsPerMonth: 1_000_000, transcriptionUnitsPerSecond },
    };
    writeFileSync(folder.file('parley.yaml'), JSON.stringify(settings));
    this.#dataDir = folder.file('data');
    this.#start = (...args) => serve(['--data-dir', this.#dataDir, ...args], { cwd: folder.path });
  }

  static async start(round: Round, upstream: ScriptedUpstream, store: LiveStore): Promise<Victim> {
    const victim = new Victim(round, upstream, store);
    victim.#serving = await victim.#start('--demo');
    victim.#key = (await openAccounts(victim.#serving.baseUrl, victim.#dataDir)).apiKey;
    return victim;
  }

  async openSession(): Promise<LiveClient> {
    const client = new LiveClient({ baseUrl: this.#serving?.baseUrl ?? '', apiKey: this.#key });
    client.configure();
    return client;
  }

  async openConversation(): Promise<RealtimeClient> {
    const client = new RealtimeClient(
      { baseUrl: this.#serving?.baseUrl ?? '', apiKey: this.#key },
      { query: 'model=talk' },
    );
    await client.configure({ type: 'realtime', audio: { input: { turn_detection: null } } });
    const content = [{ type: 'input_text', text: 'Count.' }];
    client.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
    return client;
  }

  /** Waits for records of the session and of its turns. */
  async untilRunning(count: number): Promise<void> {
    await until(async () => (await this.#newRecords()).length >= count);
  }

  /**
   * Kills the server, restarts it, and compares the books with what the client got.
   * @param units of a turn that may have ended before the kill. Default: none can have
   */
  async killIn(client: LiveClient, units = 0): Promise<void> {
    const records = await this.restart();
    expect(await client.ended).not.toBeUndefined();
    const states = records.map((record) => [record.state, record.units ?? 0] as const);
    const paid = states.filter(([state]) => state === 'ok');
    for (const [state, used] of states) {
      expect([state, used]).toEqual(state === 'ok' ? ['ok', units] : ['interrupted', 0]);
    }
    expect(paid.length).toBeGreaterThanOrEqual(client.all('turn').length);
    expect(paid.length).toBeLessThanOrEqual(units > 0 ? 1 : 0);
    // The session, and its turn.
    expect(records.length).toBeLessThanOrEqual(2);
  }

  /** Kills the server and starts it again, checks its books, and returns the records that it did not have before. */
  async restart(): Promise<readonly BookedRecord[]> {
    this.#serving?.kill('SIGKILL');
    this.round.kills++;
    await this.#serving?.ended;
    this.#serving = await this.#start();
    await until(async () => (await this.#newRecords()).every(({ state }) => state !== 'started'));
    const records = await this.#newRecords();
    for (const { id } of records) this.#checked.add(id);
    checkExact(await this.#store.readBooks(this.#dataDir));
    return records;
  }

  async #newRecords(): Promise<readonly BookedRecord[]> {
    const { records } = await this.#store.readBooks(this.#dataDir);
    return records.filter(({ id }) => !this.#checked.has(id));
  }
}
