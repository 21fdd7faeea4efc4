/** Output in members that the schema does not name, and answers whose clients leave. */
import { afterAll, describe, expect, it, vi } from 'vitest';
import { servedModel, startBehind } from '../../support/behind-upstream.ts';
import { chunk, completion, question } from '../../support/chat-answers.ts';
import { bearer, TestClock } from '../../support/parley.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { events, json } from '../../support/upstream-answers.ts';

type Json = Record<string, unknown>;

/** For events that take a moment, on a machine that may be busy. */
const soon = { timeout: 120_000 };
const path = '/chat/completions';
const clock = new TestClock();
const upstream = await startScriptedUpstream();
/** The server reads on for a report of audio after the client has left; an upstream that sends nothing more gets this time. */
const engine = { idleMs: 2_000 };
const parley = await startBehind(upstream.baseUrl, { clock, engine, models: [servedModel] });
afterAll(async () => {
  await parley.close();
  await upstream.stop();
});

const words = 'one two three';
/** So long that as text it would be far dearer than its report. */
const base64 = Buffer.from(Array.from({ length: 3_000 }, (_, index) => (index * 7_919) % 251)).toString(
  'base64',
);
const picture = `data:image/png;base64,${base64}`;
/** A delta, and whether its text can be counted. */
const outputs: Readonly<
  Record<string, { readonly delta: Json; readonly choice?: Json; readonly counted: boolean }>
> = {
  audio: { delta: { audio: { id: 'audio_1', data: 'AAAA' } }, counted: false },
  'audio with its transcript': { delta: { audio: { data: 'AAAA', transcript: words } }, counted: true },
  images: {
    delta: { images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
    counted: false,
  },
  'images as texts': { delta: { images: [picture] }, counted: false },
  'images by their addresses': { delta: { images: [{ url: picture }] }, counted: false },
  'audio as a text': { delta: { audio: base64 }, counted: false },
  'audio by its address': { delta: { audio: { url: 'https://example.com/a.wav' } }, counted: false },
  'parts that think': {
    delta: { content: [{ type: 'thinking', thinking: [{ type: 'text', text: words }] }] },
    counted: true,
  },
  'two spellings of reasoning': { delta: { reasoning_content: '', reasoning: words }, counted: true },
  'details of reasoning': {
    delta: { reasoning_details: [{ type: 'reasoning.text', text: words }] },
    counted: true,
  },
  'a tool call without a list': { delta: { tool_calls: { function: { arguments: words } } }, counted: true },
  'a tool call of an unknown type': {
    delta: { tool_calls: [{ index: 0, type: 'mcp', mcp: { arguments: words } }] },
    counted: true,
  },
  'a function call': { delta: { function_call: { name: 'f', arguments: words } }, counted: true },
  thinking: { delta: { thinking: words }, counted: true },
  'logprobs without text': {
    delta: { content: '' },
    choice: { logprobs: { content: [{ token: words, logprob: -1, bytes: null, top_logprobs: [] }] } },
    counted: true,
  },
  'logprobs of a refusal': {
    delta: { content: '' },
    choice: { logprobs: { refusal: [{ token: words, logprob: -1, bytes: null, top_logprobs: [] }] } },
    counted: true,
  },
  'text of a completion': { delta: {}, choice: { text: words }, counted: true },
};

/** Asks with a new key, and leaves once the client has got `count` chunks. */
async function leaveAfter(count: number, beforeLeaving = () => {}) {
  const key = await parley.newKey({ credits: '1' });
  const leave = new AbortController();
  const answer = await parley.postJson(
    path,
    { ...question, stream: true },
    { ...bearer(key), signal: leave.signal },
  );
  const reader = answer.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (text.split('data: ').length <= count) {
    const { value, done } = (await reader?.read()) ?? { done: true };
    if (done) throw new Error('the answer has ended');
    text += decoder.decode(value, { stream: true });
  }
  beforeLeaving();
  leave.abort();
  await reader?.cancel().catch(() => undefined);
  return vi.waitFor(async () => {
    const record = await parley.recordOf(answer);
    expect(record.state).not.toBe('started');
    return record;
  }, soon);
}

const opening = chunk({ role: 'assistant', content: '' });
const stalling = { ending: 'stall', done: false } as const;

describe.each(Object.entries(outputs))('%s', (_, { delta, choice, counted }) => {
  const twenty = Array.from({ length: 20 }, () => chunk(delta, choice));

  it('is paid by a client that leaves', async () => {
    const rest = counted ? stalling : { done: false };
    upstream.answer(path, events([opening, ...twenty], { ...rest, everyMs: 5 }));
    const { state, tokens, cost } = await leaveAfter(counted ? 20 : 5);
    expect(state).toBe('cancelled');
    expect(tokens?.completionTokens).toBeGreaterThanOrEqual(counted ? 40 : 1);
    if (!counted) expect(tokens?.completionTokens).toBe(1);
    expect(tokens?.promptTokens).toBeGreaterThan(0);
    expect(cost).toBeGreaterThan(0n);
  });

  it('is counted in a whole answer without a report', async () => {
    const message = { role: 'assistant', content: null, ...delta };
    const choices = [{ index: 0, message, finish_reason: 'stop', ...choice }];
    upstream.answer(path, json(completion('', { choices, usage: undefined })));
    const answer = await parley.postJson(path, question);
    expect(answer.status).toBe(200);
    const { tokens } = await parley.recordOf(answer);
    expect(tokens?.completionTokens).toBeGreaterThanOrEqual(counted ? 3 : 1);
  });
});

it.each([
  ['audio', { audio: { data: 'AAAA' } }],
  ['audio as a text', { audio: base64 }],
  ['audio by its address', { audio: { url: 'https://example.com/a.wav' } }],
  ['a list of images', { images: [picture] }],
])('%s is read on for its report after the client has left', async (_, delta) => {
  const output = chunk(delta);
  const usage = { prompt_tokens: 9, completion_tokens: 700, total_tokens: 709 };
  const end = [chunk({}, { finish_reason: 'stop' }), { ...chunk({}), choices: [], usage }];
  upstream.answer(path, events([opening, ...Array(20).fill(output), ...end], { everyMs: 20 }));
  const { state, tokens } = await leaveAfter(3);
  expect([state, tokens?.completionTokens, tokens?.source]).toEqual(['cancelled', 700, 'reported']);
});

// A copy of the text before it for each part would take over half a minute.
it('thousands of parts are read once, in an answer and in a prompt', async () => {
  const parts = Array.from({ length: 10_000 }, () => ({ type: 'text', text: 'x'.repeat(60) }));
  const message = { role: 'assistant', content: parts };
  upstream.answer(path, json(completion('', { choices: [{ index: 0, message, finish_reason: 'stop' }] })));
  const reasoned = { role: 'assistant', content: words, reasoning_details: { content: parts } };
  const answer = await parley.postJson(path, { ...question, messages: [reasoned, ...question.messages] });
  expect(answer.status).toBe(200);
}, 20_000);

it('a signature is no text', async () => {
  const opaque = { provider_specific_fields: { thought_signature: base64 } };
  upstream.answer(path, events([chunk({ content: words, ...opaque }), chunk({}, { finish_reason: 'stop' })]));
  const answer = await parley.postJson(path, { ...question, stream: true });
  await answer.text();
  expect((await parley.recordOf(answer)).tokens?.completionTokens).toBe(3);
});

it('numbers alone are output', async () => {
  upstream.answer(path, events([opening, chunk({ token_ids: [17, 4] })], { ...stalling, everyMs: 5 }));
  expect(await leaveAfter(2)).toMatchObject({ state: 'cancelled', tokens: { completionTokens: 1 } });
});

it('a chunk with only a role is free', async () => {
  upstream.answer(
    path,
    events(
      [chunk({ role: 'assistant', content: '', audio: null, images: [], reasoning_details: [{ index: 0 }] })],
      stalling,
    ),
  );
  expect(await leaveAfter(1)).toMatchObject({ state: 'cancelled', cost: undefined });
});

it('a clock that is set back during a stream leaves a duration of the stream', async () => {
  upstream.answer(path, events([opening, chunk({ content: words })], { ...stalling, everyMs: 50 }));
  const { durationMs, firstOutputMs } = await leaveAfter(2, () => {
    clock.nowMs -= 7_200_000;
  });
  clock.nowMs += 7_200_000;
  expect(durationMs).toBeGreaterThanOrEqual(0);
  expect(durationMs).toBeLessThan(600_000);
  expect(firstOutputMs).toBeGreaterThanOrEqual(0);
});
