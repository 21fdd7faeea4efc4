/** Bodies of a wrong type, in the form of the other kind of answer, or compressed: they are read by their content. */
import type { Readable } from 'node:stream';
import { createUnzip, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startBehind } from '../../support/behind-upstream.ts';
import { chunk, chunks, completion, question, readEvents, reported } from '../../support/chat-answers.ts';
import { errorOf } from '../../support/parley.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { eventStream, eventText, json, pieces, whole } from '../../support/upstream-answers.ts';

const path = '/chat/completions';
const upstream = await startScriptedUpstream();
const parley = await startBehind(upstream.baseUrl);
afterAll(async () => {
  await parley.close();
  await upstream.stop();
});

const ask = (body: object = {}) => parley.postJson(path, { ...question, ...body });
const eventsOf = (...parts: readonly object[]) => [
  ...parts.map((part) => `data: ${JSON.stringify(part)}\n\n`),
  'data: [DONE]\n\n',
];

describe('a plain answer', () => {
  it.each(['text/plain', 'text/html', 'text/event-stream', undefined])(
    'of the type %s is read',
    async (type) => {
      const headers = type === undefined ? {} : { 'content-type': type };
      upstream.answer(path, whole(JSON.stringify(completion('a b')), { headers }));
      expect(await (await ask()).json()).toEqual({ ...completion('a b'), model: 'served' });
    },
  );

  it.each(['text/event-stream', 'application/json', undefined])(
    'that comes as events of the type %s is joined, and charged by its usage',
    async (type) => {
      const headers = type === undefined ? {} : { 'content-type': type };
      upstream.answer(path, pieces([': hello\n\n', ...eventsOf(...chunks('a', ' b'))], { headers }));
      const response = await ask();
      expect(await response.json()).toMatchObject({
        id: 'chatcmpl-1',
        object: 'chat.completion',
        model: 'served',
        choices: [{ index: 0, message: { role: 'assistant', content: 'a b' }, finish_reason: 'stop' }],
        usage: reported,
      });
      expect(await parley.recordOf(response)).toMatchObject({ state: 'ok', tokens: { source: 'reported' } });
    },
  );

  it('that comes as events keeps reasoning, tool calls, log probabilities and choices', async () => {
    const call = (index: number, more: object, args: string) => ({
      tool_calls: [{ index, ...more, function: { ...('id' in more && { name: 'look' }), arguments: args } }],
    });
    const logprob = (token: string) => ({ logprobs: { content: [{ token, logprob: -1 }] } });
    const parts = [
      chunk({ role: 'assistant', reasoning_content: 'so' }),
      chunk({ reasoning_content: '…' }, logprob('x')),
      chunk(call(0, { id: 'call_1', type: 'function' }, '{"at":')),
      chunk(call(0, {}, '1}'), logprob('y')),
      chunk(call(1, { id: 'call_2', type: 'function' }, '{}')),
      chunk({ content: 'two' }, { index: 1, finish_reason: 'length' }),
      { ...chunk({}), choices: [], usage: reported },
    ];
    upstream.answer(path, eventText(eventsOf(...parts)));
    expect(await (await ask({ n: 2 })).json()).toMatchObject({
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: null,
            reasoning_content: 'so…',
            tool_calls: [
              { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } },
              { id: 'call_2', type: 'function', function: { name: 'look', arguments: '{}' } },
            ],
          },
          logprobs: { content: [{ token: 'x' }, { token: 'y' }] },
          finish_reason: 'tool_calls',
        },
        { index: 1, message: { content: 'two' }, finish_reason: 'length' },
      ],
    });
  });

  it.each([
    ['an error', eventsOf({ error: { message: 'upstream words' } })],
    ['an error event', ['event: error\ndata: {"message":"upstream words"}\n\n']],
    ['no end', eventsOf(chunk({ content: 'a' })).slice(0, 1)],
    ['no JSON', ['data: nonsense\n\n']],
    ['a list', ['data: []\n\n']],
    ['no choices', eventsOf()],
  ])('that comes as events with %s is a 502 that is not repeated', async (_, parts) => {
    upstream.answer(path, eventText(parts));
    const response = await ask();
    expect(response.headers.get('x-should-retry')).toBe('false');
    const error = await errorOf(response);
    expect(error).toMatchObject({ status: 502, code: 'upstream_error' });
    expect(error.message).not.toContain('upstream words');
  });
});

/** Counts the bytes that answers have once they are decompressed. */
function countUnzipped(): () => number {
  const unzips: Pick<Readable, 'push'> = Object.getPrototypeOf(createUnzip());
  const push = vi.spyOn(unzips, 'push');
  onTestFinished(() => push.mockRestore());
  return () => push.mock.calls.reduce((sum, [piece]) => sum + (piece?.length ?? 0), 0);
}

describe('a compressed body', () => {
  const gzip = { 'content-encoding': 'gzip' };
  const jsonGzip = { ...gzip, 'content-type': 'application/json' };

  it('is not asked for', async () => {
    upstream.answer(path, json(completion()));
    await ask();
    expect(upstream.requests.at(-1)?.headers['accept-encoding']).toBe('identity');
  });

  it('is read: a plain answer, a stream and the code of an error', async () => {
    upstream.answer(path, whole(gzipSync(JSON.stringify(completion('a b'))), { headers: jsonGzip }));
    expect(await (await ask()).json()).toMatchObject({ choices: [{ message: { content: 'a b' } }] });
    const zipped = gzipSync(eventsOf(...chunks('a', ' b')).join(''));
    const halves = [zipped.subarray(0, 40), zipped.subarray(40)];
    upstream.answer(path, pieces(halves, { headers: { ...gzip, ...eventStream }, everyMs: 5 }));
    expect(await readEvents(await ask({ stream: true }))).toMatchObject({ text: 'a b', isDone: true });
    const error = gzipSync(JSON.stringify({ error: { code: 'content_filter' } }));
    upstream.answer(path, whole(error, { status: 400, headers: jsonGzip }));
    expect(await errorOf(await ask())).toMatchObject({ status: 400, code: 'content_filter' });
  });

  it.each([
    ['a small part of a huge text', gzipSync(Buffer.alloc(300_000_000, ' '))],
    ['cut off', gzipSync(JSON.stringify(completion())).subarray(0, 60)],
    ['not compressed at all', Buffer.from(JSON.stringify(completion()))],
  ])('that is %s is a 502', async (_, body) => {
    const unzipped = countUnzipped();
    upstream.answer(path, whole(body, { headers: jsonGzip }));
    for (const stream of [false, true]) {
      expect(await errorOf(await ask({ stream, max_tokens: 50 }))).toMatchObject({ status: 502 });
    }
    expect(unzipped()).toBeLessThan(20_000_000);
  });

  it('of a stream that its client leaves is closed', async () => {
    const zipped = gzipSync(eventsOf(...chunks(...Array<string>(20_000).fill('word '))).join(''));
    const halves = [zipped.subarray(0, 2_000), zipped.subarray(2_000, 4_000)];
    upstream.answer(path, pieces(halves, { headers: { ...gzip, ...eventStream }, ending: 'stall' }));
    const client = new AbortController();
    const init = { signal: client.signal };
    const response = await parley.postJson(path, { ...question, stream: true }, init);
    await response.body?.getReader().read();
    client.abort();
    await upstream.requests.at(-1)?.aborted;
  });
});
