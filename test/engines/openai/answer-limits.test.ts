/** Answers of an upstream that are larger than the request allows, or larger once parsed. */
import { afterAll, describe, expect, it } from 'vitest';
import { startBehind } from '../../support/behind-upstream.ts';
import { chunk, chunks, completion, question, readEvents } from '../../support/chat-answers.ts';
import { errorOf } from '../../support/parley.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { events, eventText, json, whole } from '../../support/upstream-answers.ts';

const path = '/chat/completions';
const upstream = await startScriptedUpstream();
const parley = await startBehind(upstream.baseUrl);
afterAll(async () => {
  await parley.close();
  await upstream.stop();
});

const ask = (body: object = {}) => parley.postJson(path, { ...question, max_tokens: 50, ...body });
const balance = async () => (await parley.app.store.accounts.find(parley.accountId))?.balance;
const jsonType = { 'content-type': 'application/json' };
const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
/** A whole answer with an additional member. */
const withMember = (text: string) => JSON.stringify(completion()).replace(/}$/, `,"own":${text}}`);

describe('a whole answer', () => {
  it.each([
    ['more elements than a text may have', withMember(`[${'0,'.repeat(1_000_000)}0]`)],
    ['more levels', withMember(nested(1_000_000))],
    ['more choices than can be asked for', JSON.stringify({ choices: Array(129).fill({}) })],
    ['more bytes than 50 tokens can have', JSON.stringify(completion('word '.repeat(1_000_000)))],
  ])('of %s is an upstream_error and costs nothing', async (_, body) => {
    upstream.answer(path, whole(body, { headers: jsonType }));
    const before = await balance();
    const response = await ask();
    expect(await errorOf(response.clone())).toMatchObject({ status: 502, code: 'upstream_error' });
    expect(await parley.recordOf(response)).toMatchObject({ state: 'failed', code: 'upstream_error' });
    expect(await balance()).toBe(before);
  });

  it('is passed on with the log probabilities of 20 other tokens for each of its own', async () => {
    const token = { token: 'word', logprob: -0.5, bytes: [119, 111, 114, 100] };
    const content = Array.from({ length: 1_000 }, () => ({ ...token, top_logprobs: Array(20).fill(token) }));
    const answer = completion();
    const [choice] = answer['choices'] as object[];
    upstream.answer(path, json({ ...answer, choices: [{ ...choice, logprobs: { content } }] }));
    const response = await ask({ max_tokens: 1_000 });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ choices: [{ logprobs: { content } }] });
  });
});

it('an event of a stream has at most as many characters as the engine is set to', async () => {
  const small = await startBehind(upstream.baseUrl, { engine: { eventCharactersMax: 2_000 } });
  for (const [letters, state] of [
    [1_000, 'ok'],
    [3_000, 'failed'],
  ] as const) {
    upstream.answer(path, events(chunks('x'.repeat(letters))));
    const response = await small.postJson(path, { ...question, stream: true });
    expect((await readEvents(response.clone())).isDone).toBe(state === 'ok');
    expect(await small.recordOf(response)).toMatchObject({ state });
  }
  await small.close();
});

describe('a streamed answer', () => {
  const stream = (body: object = {}) => ask({ stream: true, ...body });
  const many = Buffer.from(`data: ${JSON.stringify(chunk({ content: 'word ' }))}\n\n`.repeat(1_000));

  it('of more bytes than allowed breaks off, stops the upstream and costs nothing', async () => {
    upstream.answer(path, eventText(Array(400).fill(many)));
    const before = await balance();
    const response = await stream();
    const text = await response.clone().text();
    const { isDone } = await readEvents(response);
    expect(isDone).toBe(false);
    expect(text).toContain('"upstream_error"');
    expect(text.length).toBeLessThan(6 * 1024 * 1024);
    await upstream.requests.at(-1)?.aborted;
    expect(await parley.recordOf(response)).toMatchObject({ state: 'failed', code: 'upstream_error' });
    expect(await balance()).toBe(before);
  });

  it('of the same bytes is passed on to a client with a higher limit', async () => {
    const usage = { prompt_tokens: 9, completion_tokens: 4_000, total_tokens: 4_009 };
    const last = [chunk({}, { finish_reason: 'stop' }, { usage })];
    const text = `data: ${JSON.stringify(last[0])}\n\ndata: [DONE]\n\n`;
    upstream.answer(path, eventText([...Array(40).fill(many), text]));
    const { isDone, events: read } = await readEvents(await stream({ max_tokens: 4_000 }));
    expect(isDone).toBe(true);
    expect(read.length).toBeGreaterThan(40_000);
  });

  it.each([
    ['more levels than a text may have', `data: ${withMember(nested(100_000))}\n\n`],
    ['more choices than can be asked for', `data: {"choices":[${'{},'.repeat(128)}{}]}\n\n`],
  ])('with an event of %s is an upstream_error', async (_, text) => {
    upstream.answer(path, eventText([text], { ending: 'stall' }));
    expect(await errorOf(await stream())).toMatchObject({ status: 502, code: 'upstream_error' });
  });

  it('with an event of no end stops the upstream', async () => {
    upstream.answer(path, eventText(['data: word\n'.repeat(500_000)], { ending: 'stall' }));
    const text = await (await stream()).text();
    expect(text).toContain('"upstream_error"');
    expect(text).not.toContain('[DONE]');
    await upstream.requests.at(-1)?.aborted;
  });

  it('within the limits is passed on as before', async () => {
    upstream.answer(path, events(chunks('Hello', ' there')));
    expect((await readEvents(await stream())).isDone).toBe(true);
  });
});
