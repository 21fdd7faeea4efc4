/** Streamed chats that a time limit of the server cuts short. */
import { afterAll, expect, it } from 'vitest';
import { servedModel, startBehind } from '../../support/behind-upstream.ts';
import { chunk, question, readEvents } from '../../support/chat-answers.ts';
import { bearer, type Parley } from '../../support/parley.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { events, pieces } from '../../support/upstream-answers.ts';

const path = '/chat/completions';
const limitMs = 1_000;
const upstream = await startScriptedUpstream();
const hurried = await startBehind(upstream.baseUrl, {
  models: [servedModel],
  settings: { server: { requestMsMax: limitMs } },
});
const behindHurried = await startBehind(upstream.baseUrl, { engine: { totalMs: limitMs } });
afterAll(async () => {
  await hurried.close();
  await behindHurried.close();
  await upstream.stop();
});

const opening = chunk({ role: 'assistant', content: '' });
const words = chunk({ content: 'one two three' });
const stalling = { ending: 'stall', done: false } as const;

async function ask(parley: Parley) {
  const key = await parley.newKey({ credits: '1' });
  const answer = await parley.postJson(path, { ...question, stream: true }, bearer(key));
  const { events: all, isDone, text } = await readEvents(answer);
  return { last: all.at(-1), isDone, text, record: await parley.recordOf(answer) };
}

it.each([
  ['of the request', hurried],
  ['of a call to the upstream', behindHurried],
])('the limit %s stops the upstream, and what was sent is paid', async (_, parley) => {
  upstream.answer(path, events([opening, words], stalling));
  const received = upstream.nextRequest();
  const { last, isDone, text, record } = await ask(parley);
  await (await received).aborted;
  expect([text, isDone]).toEqual(['one two three', true]);
  expect(last).toMatchObject({
    id: 'chatcmpl-1',
    choices: [{ index: 0, delta: {}, finish_reason: 'length' }],
  });
  expect(last.usage.completion_tokens).toBe(3);
  expect(record).toMatchObject({ state: 'ok', httpStatus: 200, code: 'deadline_exceeded' });
  expect(record.tokens).toMatchObject({ completionTokens: 3, source: 'estimated' });
  expect(record.cost).toBe(BigInt(last.usage.total_tokens) * 1_000n);
});

it('a stream without output fails', async () => {
  upstream.answer(path, events([opening], stalling));
  for (const [parley, code] of [
    [hurried, 'overloaded'],
    [behindHurried, 'upstream_error'],
  ] as const) {
    const { last, isDone, record } = await ask(parley);
    expect([last.error.code, isDone]).toEqual([code, false]);
    expect(record).toMatchObject({ state: 'failed', code, cost: undefined });
  }
});

it('a plain answer fails, and must not be asked for again', async () => {
  upstream.answer(path, pieces(['{'], { ending: 'stall' }));
  for (const parley of [hurried, behindHurried]) {
    const answer = await parley.postJson(path, question);
    expect([answer.status, answer.headers.get('x-should-retry')]).toEqual([
      parley === hurried ? 503 : 502,
      'false',
    ]);
  }
});

it('a report that has arrived counts', async () => {
  const usage = { prompt_tokens: 9, completion_tokens: 40, total_tokens: 49 };
  upstream.answer(path, events([opening, { ...words, usage }], stalling));
  const { last, record } = await ask(hurried);
  expect(last.usage).toMatchObject({ completion_tokens: 40 });
  expect(record.tokens?.completionTokens).toBe(40);
});

it('only the open choices of several end by their length', async () => {
  const other = chunk({ content: 'four' }, { index: 1, finish_reason: 'stop' });
  upstream.answer(path, events([opening, words, other], stalling));
  const { last } = await ask(hurried);
  expect(last.choices).toEqual([{ index: 0, delta: {}, finish_reason: 'length' }]);
});

const audio = chunk({ audio: { data: 'AAAA' } });
const images = chunk({ images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] });
/** Fifteen chunks, of which the last come after the limit, and a report. */
const withReport = (output: unknown) => {
  const usage = { prompt_tokens: 9, completion_tokens: 700, total_tokens: 709 };
  const end = [chunk({}, { finish_reason: 'stop' }), { ...chunk({}), choices: [], usage }];
  return events([opening, ...Array(15).fill(output), ...end], { everyMs: 100 });
};
const read = {
  state: 'ok',
  code: 'deadline_exceeded',
  tokens: { completionTokens: 700, source: 'reported' },
};

it('audio, which cannot be counted, is read on for its report', async () => {
  upstream.answer(path, withReport(audio));
  const { last, isDone, record } = await ask(hurried);
  expect(isDone).toBe(true);
  expect(last).toMatchObject({ choices: [{ finish_reason: 'length' }], usage: { completion_tokens: 700 } });
  expect(record).toMatchObject(read);
});

it.each([
  { to: '/messages', body: { max_tokens: 4_000, messages: question.messages }, hasForm: false },
  { to: '/responses', body: { input: 'say hello' }, hasForm: true },
  { to: '/completions', body: { prompt: 'say hello' }, hasForm: false },
])(
  'audio and images are paid on $to (which has a form for them: $hasForm)',
  async ({ to, body, hasForm }) => {
    const key = await hurried.newKey({ credits: '1' });
    for (const output of [audio, images]) {
      upstream.answer(path, withReport(output));
      const answer = await hurried.postJson(to, { model: 'served', ...body, stream: true }, bearer(key));
      expect((await answer.text()).includes('AAAA')).toBe(hasForm);
      expect(await hurried.recordOf(answer)).toMatchObject(read);
    }
  },
);
