/**
 * The program as a process, killed at the moments that decide what is left of a request: while its started record is being written, after
 * its first byte, and between the write of its end and its answer.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { servedModel } from '../support/behind-upstream.ts';
import { fileFaults, readBooks } from '../support/books.ts';
import { type Folder, type Serving, scratchFolder, serve } from '../support/command-line.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { events, json, silence } from '../support/upstream-answers.ts';

const rounds = 12;
const timeout = 60_000 + rounds * 30_000;
/** Nano-credits of a token of the model `served`: a credit a million tokens. */
const tokenPrice = 1_000n;

let upstream: ScriptedUpstream;
beforeAll(async () => {
  upstream = await startScriptedUpstream();
});
afterAll(() => upstream.stop());

let folder: Folder;
let dataDir: string;
let key: string;
let serving: Serving;
beforeEach(async () => {
  folder = scratchFolder();
  dataDir = folder.file('data');
  const engine = {
    kind: 'openai',
    baseUrl: upstream.baseUrl,
    models: { served: 'm' },
    outputLimit: 'max_tokens',
  };
  const settings = { engines: { upstream: engine }, models: [servedModel] };
  writeFileSync(folder.file('parley.yaml'), JSON.stringify(settings));
  serving = await start('--demo');
  key = JSON.parse(readFileSync(join(dataDir, 'first-run.json'), 'utf8')).apiKey;
});
afterEach(async () => {
  await serving.close();
  folder.remove();
});

const start = (...args: string[]) => serve(['--data-dir', dataDir, ...args], { cwd: folder.path });
const ask = (stream = false) =>
  fetch(`${serving.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'served', stream, messages: [{ role: 'user', content: 'Hello.' }] }),
  });
const kill = async () => {
  serving.kill('SIGKILL');
  await serving.ended;
  serving = await start();
};
/** The states of chats, after a check of the books. */
const statesLeft = () => {
  const { faults, accounts, records } = readBooks(dataDir);
  expect([...faults, ...fileFaults(dataDir)]).toEqual([]);
  expect(accounts).toMatchObject([{ held: 0n }]);
  return records.map(({ state, cost = 0n }) => [state, cost] as const);
};

it('leaves a request that nobody was answered interrupted or without a trace', { timeout }, async () => {
  upstream.answer('/chat/completions', silence);
  for (let round = 0; round < rounds; round++) {
    const received = upstream.nextRequest();
    const lost = ask().catch(() => 'lost');
    await received;
    // The started record is written about 25 ms after the request came.
    await sleep(23 + (round % 4));
    await kill();
    expect(await lost).toBe('lost');
    for (const left of statesLeft()) expect(left).toEqual(['interrupted', 0n]);
  }
  expect(readBooks(dataDir).entries.filter(({ kind }) => kind === 'debit')).toEqual([]);
});

it('leaves a stream interrupted once its first byte has left', { timeout }, async () => {
  const chunk = { choices: [{ index: 0, delta: { content: 'some' }, finish_reason: null }] };
  upstream.answer('/chat/completions', events([chunk], { done: false, ending: 'stall' }));
  for (let round = 1; round <= rounds / 4; round++) {
    const response = await ask(true);
    const reader = response.body?.getReader();
    await reader?.read();
    await kill();
    await reader?.cancel().catch(() => undefined);
    expect(statesLeft()).toEqual(Array.from({ length: round }, () => ['interrupted', 0n]));
  }
});

it('keeps a debit whose answer was lost, once', { timeout }, async () => {
  const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
  const message = { role: 'assistant', content: 'Yes.' };
  upstream.answer(
    '/chat/completions',
    json({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage }),
  );
  let answered = 0;
  for (let round = 0; round < rounds; round++) {
    const received = upstream.nextRequest();
    const asked = ask().then(
      () => answered++,
      () => undefined,
    );
    await received;
    await sleep(round % 6);
    await kill();
    await asked;
    const left = statesLeft();
    const paid = left.filter(([state]) => state === 'ok');
    expect(paid.length).toBeGreaterThanOrEqual(answered);
    for (const [, cost] of paid) expect(cost).toBe(10n * tokenPrice);
    for (const [state, cost] of left) expect(state === 'ok' || cost === 0n).toBe(true);
  }
});
