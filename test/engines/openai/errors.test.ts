/** Failures of an upstream: the client's answer, the cost, and the upstream's view. */
import { describe, expect, it } from 'vitest';
import { ParleyError } from '../../../src/core/values/errors.ts';
import { newRequestId } from '../../../src/core/values/ids.ts';
import { errorInfo } from '../../../src/transports/rpc/errors.ts';
import { makeCertificate } from '../../support/certificates.ts';
import { chunk, chunks, completion, question, readEvents } from '../../support/chat-answers.ts';
import { path, quick, startImpatient, text } from '../../support/impatient-parley.ts';
import { startMuteServer } from '../../support/mute-server.ts';
import { type ErrorBody, errorOf } from '../../support/parley.ts';
import { type Answer, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import {
  endless,
  eventStream,
  events,
  eventText,
  failure,
  json,
  pieces,
  rawBytes,
  redirect,
  resetAt,
  resetAtOnce,
  silence,
  whole,
} from '../../support/upstream-answers.ts';

const { upstream, parley, behind, afterTest, ask } = await startImpatient();
const balance = async () => (await parley.app.store.accounts.find(parley.accountId))?.balance;
const html = { 'content-type': 'text/html' };

const item = { role: 'user', content: 'say hello' };
const call = { type: 'function_call', call_id: 'a', name: 'walk', arguments: '{}' };
const output = { type: 'function_call_output', call_id: 'a', output: 'far' };

/** The words of the upstream and of libraries never reach a client. */
function expectOurWords(message: string) {
  expect(message).not.toMatch(/upstream|ECONN|socket|undici|SyntaxError|JSON/i);
  expect(message).toMatch(/\.$/);
}

describe("an upstream's status", () => {
  it.each([
    [400, /refused the request/],
    [401, /key of this server/],
    [402, /no credits left/],
    [403, /key of this server/],
    [404, /does not know/],
    [408, /in time/],
    [409, /refused the request/],
    [413, /too large/],
    [418, /refused the request/],
    [422, /refused the request/],
    [429, /too many requests/],
    [500, /failed/],
    [502, /failed/],
    [503, /busy/],
    [504, /failed|in time/],
    [529, /failed/],
  ])("%i is passed on with Parley's wording, and costs nothing", async (status, words) => {
    upstream.answer(path, failure(status));
    const before = [upstream.requests.length, await balance()];
    for (const stream of [false, true]) {
      const response = await ask({ stream });
      const error = await errorOf(response);
      expect(error).toMatchObject({ status, code: 'upstream_error', type: 'server_error', param: null });
      expect(error.message).toMatch(words);
      const mayHaveRun = status === 402 || status === 408 || status === 504;
      expect(response.headers.get('x-should-retry')).toBe(mayHaveRun ? 'false' : null);
      expectOurWords(error.message);
      const record = await parley.recordOf(response);
      expect(record).toMatchObject({ state: 'failed', code: 'upstream_error', httpStatus: status });
      expect(record.cost ?? 0n).toBe(0n);
    }
    expect([upstream.requests.length, await balance()]).toEqual([Number(before[0]) + 2, before[1]]);
  });

  it.each([
    ['unknown_model', 400],
    ['model_not_found', 400],
    ['model_not_found', 404],
    ['model_not_found', 422],
  ])("with the code %s is the operator's to fix: %i", async (code, status) => {
    upstream.answer(path, json({ error: { message: 'No such model.', code } }, { status }));
    const error = await errorOf(await ask());
    expect(error).toMatchObject({ status, code: 'upstream_error', type: 'server_error' });
    expect(error.message).toMatch(/does not know the model name .* Only the operator/);
    expectOurWords(error.message);
  });

  it.each([
    ['insufficient_quota', 429],
    ['exceeded_current_quota_error', 429],
    ['Arrearage', 400],
  ])('with the code %s means that the account of this server is empty: %i', async (code, status) => {
    upstream.answer(path, json({ error: { message: 'Check your plan.', code } }, { status }));
    const error = await errorOf(await ask());
    expect(error).toMatchObject({ status, code: 'upstream_error', type: 'server_error' });
    expect(error.message).toMatch(/no credits left for this server\. Only the operator/);
    upstream.answer(path, eventText(text({ error: { message: 'Check your plan.', code } })));
    expect(await errorOf(await ask({ stream: true }))).toMatchObject({ status: 502, message: error.message });
  });

  const tools = [
    { type: 'function', function: { name: 'walk', parameters: { type: 'object', properties: { far: {} } } } },
  ];
  it.each<[object, number, object, RegExp]>([
    [
      { code: 'invalid_function_parameters', param: 'tools[0].function.parameters' },
      400,
      { code: 'invalid_parameter', param: 'tools[0].function.parameters' },
      /schema of a tool .*: `tools\[0\]\.function\.parameters`/,
    ],
    [
      { code: 'unsupported_parameter', param: 'top_k' },
      400,
      { code: 'invalid_parameter', param: 'top_k' },
      /does not take a parameter: `top_k`/,
    ],
    [
      { code: 'unsupported_parameter' },
      422,
      { code: 'invalid_parameter', param: null },
      /take a parameter\.$/,
    ],
    [
      { code: 400, param: 'messages.[0].content' },
      400,
      { code: 'invalid_parameter', param: 'messages[0].content' },
      /refuses a parameter/,
    ],
    [{ code: 'content_filter', param: 'prompt' }, 400, { code: 'content_filter', param: null }, /filter/],
    [{ type: 'content_filter' }, 400, { code: 'content_filter', param: null }, /filter/],
  ])('names the field or the known code of %j: %i', async (named, status, expected, words) => {
    upstream.answer(path, json({ error: { message: 'upstream words', ...named } }, { status }));
    for (const stream of [false, true]) {
      const response = await ask({ stream, tools, top_k: 3 });
      const error = await errorOf(response);
      expect(error).toMatchObject({ status, type: 'invalid_request_error', ...expected });
      expect(error.message).toMatch(words);
      expectOurWords(error.message);
      expect(await parley.recordOf(response)).toMatchObject({ state: 'refused', httpStatus: status });
    }
  });

  it('names the field of an error in the form of FastAPI', async () => {
    upstream.answer(
      path,
      json({ detail: [{ loc: ['body', 'messages', 0, 'role'], msg: 'no' }] }, { status: 422 }),
    );
    expect(await errorOf(await ask())).toMatchObject({ status: 422, param: 'messages[0].role' });
  });

  it.each<[string, object, string, string]>([
    ['/responses', { input: 'say hello' }, 'messages[0].content', 'input'],
    ['/responses', { input: [item, item], instructions: 'x' }, 'messages[0].content', 'instructions'],
    ['/responses', { input: [item, item], instructions: 'x' }, 'messages[2].content', 'input[1]'],
    [
      '/responses',
      { input: [item, call, { ...call, call_id: 'b' }, output] },
      'messages[2].content',
      'input[3]',
    ],
    [
      '/responses',
      { input: [item, call, { ...call, call_id: 'b' }, output] },
      'messages[1].tool_calls',
      'input[1]',
    ],
    ['/responses', { input: [item], top_k: 3 }, 'top_k', 'top_k'],
    ['/messages', { messages: [item, item], system: 'x', max_tokens: 9 }, 'messages[0].content', 'system'],
    ['/messages', { messages: [item, item], system: 'x', max_tokens: 9 }, 'messages[2].role', 'messages[1]'],
    ['/messages', { messages: [item, item], max_tokens: 9 }, 'messages[9].role', 'messages[9].role'],
  ])('names on %s the field of %j that became %s', async (api, body, param, expected) => {
    upstream.answer(path, json({ error: { message: 'upstream words', param } }, { status: 400 }));
    for (const stream of [false, true]) {
      const response = await parley.postJson(api, { model: 'served', stream, ...body });
      const { error } = (await response.json()) as { error: { param?: string | null; message: string } };
      expect([response.status, error.message]).toEqual([400, expect.stringContaining(`\`${expected}\`.`)]);
      if (api === '/responses') expect(error.param).toBe(expected);
      expectOurWords(error.message);
      expect(await parley.recordOf(response)).toMatchObject({ state: 'refused', code: 'invalid_parameter' });
    }
  });

  it.each([
    ['messages[0].content.secret words', 'messages[0].content'],
    ['messages[0].sk_live_1', 'messages[0]'],
    ['secret', null],
    ['walk the dog', null],
    ['0', null],
    ['stream_options', null],
    ['model', null],
    ['messages'.repeat(100), null],
    [{ messages: 1 }, null],
  ])('names only fields that were sent: %j', async (param, expected) => {
    upstream.answer(path, json({ error: { message: 'upstream words', param } }, { status: 400 }));
    const error = await errorOf(await ask({ stream: true }));
    expect(error).toMatchObject({ status: 400, param: expected });
    expectOurWords(error.message);
  });

  it('with a code that is a member of every object keeps the words of the status', async () => {
    upstream.answer(path, json({ error: { code: 'constructor' } }, { status: 429 }));
    expect((await errorOf(await ask())).message).toMatch(/too many requests/);
  });

  it('keeps the milliseconds of its retry-after-ms, before its Retry-After', async () => {
    upstream.answer(path, failure(429, { 'retry-after-ms': '1400', 'retry-after': '60' }));
    expect((await ask()).headers.get('retry-after')).toBe('2');
    upstream.answer(path, failure(429, { 'retry-after-ms': 'soon', 'retry-after': '60' }));
    expect((await ask()).headers.get('retry-after')).toBe('60');
  });

  it.each([
    ['17', '17'],
    ['1.2', '2'],
    ['0', '0'],
    ['86401', '86401'],
    ['999999999', '999999999'],
    ['9'.repeat(400), '315576000000'],
    ['soon', null],
    ['-5', null],
  ])('keeps its Retry-After: %s', async (sent, told) => {
    upstream.answer(path, failure(429, { 'retry-after': sent }));
    expect((await ask()).headers.get('retry-after')).toBe(told);
  });

  it('reads a Retry-After in the oldest form of a date as UTC', async () => {
    const [weekday, day, month, year, time] = new Date(Date.now() + 60_000).toUTCString().split(/,? /);
    const asctime = `${weekday} ${month} ${String(Number(day)).padStart(2)} ${time} ${year}`;
    upstream.answer(path, failure(503, { 'retry-after': asctime }));
    const seconds = Number((await ask()).headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(30);
    expect(seconds).toBeLessThanOrEqual(60);
  });

  it.each([60, 1_000_000])('keeps its Retry-After as a date in %i seconds', async (inSeconds) => {
    const date = new Date(Date.now() + inSeconds * 1000).toUTCString();
    upstream.answer(path, failure(503, { 'retry-after': date }));
    const seconds = Number((await ask()).headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(inSeconds - 30);
    expect(seconds).toBeLessThanOrEqual(inSeconds);
  });

  it('is answered at once, also with a long or slow body', async () => {
    const patient = await behind(upstream.baseUrl, {
      engine: { firstByteMs: 600_000, idleMs: 600_000, totalMs: 600_000 },
    });
    const answers: Answer[] = [
      endless('x'.repeat(10_000)),
      pieces(['no'], { ending: 'stall' }),
      pieces(['no'], { ending: 'reset' }),
    ];
    for (const answer of answers) {
      upstream.answer(path, async (exchange) => {
        const { head } = exchange;
        exchange.head = (_status, headers) => head.call(exchange, 400, headers);
        await answer(exchange);
      });
      expect((await patient.postJson(path, question)).status).toBe(400);
    }
  });

  it.each([300, 301, 302, 304, 307, 308])('%i is not followed: 502', async (status) => {
    upstream.answer('/elsewhere', json(completion()));
    upstream.answer(path, whole('', { status, headers: { location: `${upstream.baseUrl}/elsewhere` } }));
    const before = upstream.requests.length;
    expect(await errorOf(await ask())).toMatchObject({ status: 502, code: 'upstream_error' });
    expect(upstream.requests.length).toBe(before + 1);
    upstream.answer(path, redirect(`${upstream.baseUrl}/elsewhere`));
    expect((await ask({ stream: true })).status).toBe(502);
  });
});

/** All occur before the client has received any of the answer. */
const failures: [string, Answer][] = [
  ['a reset at once', resetAtOnce],
  ['a reset within the headers', rawBytes('HTTP/1.1 200 OK\r\nContent-Type: appl', 'reset')],
  ['headers that never end', rawBytes('HTTP/1.1 200 OK\r\nContent-Type: appl')],
  ['no HTTP at all', rawBytes('SSH-2.0-OpenSSH_9.9\r\n')],
  ['silence', silence],
  ['HTML', whole('<!doctype html><title>Welcome</title>', { headers: html })],
  [
    'HTML that claims to be JSON',
    whole('<!doctype html>', { headers: { 'content-type': 'application/json' } }),
  ],
  ['HTML that claims to be a stream', whole('<!doctype html>', { headers: eventStream })],
  ['nothing', whole('', { headers: { 'content-type': 'application/json' } })],
  ['no content', whole('', { status: 204 })],
  ['an error with status 200', json({ error: { message: 'upstream words', code: 400 } })],
  ['JSON that is no object', json([completion()])],
  ['JSON of something else', json({ object: 'list', data: [] })],
  [
    'half a JSON',
    pieces([JSON.stringify(completion()).slice(0, 50)], { headers: { 'content-type': 'application/json' } }),
  ],
  [
    'JSON that is cut by a reset',
    resetAt(50, JSON.stringify(completion()), { headers: { 'content-type': 'application/json' } }),
  ],
  [
    'an answer without a finish reason',
    json(completion('x', { choices: [{ index: 0, message: { role: 'assistant', content: 'x' } }] })),
  ],
];

describe('a malformed answer', () => {
  it.each(failures)('%s is a 502, and costs nothing', async (_, answer) => {
    upstream.answer(path, answer);
    const before = [upstream.requests.length, await balance()];
    for (const stream of [false, true]) {
      const response = await ask({ stream });
      const error = await errorOf(response);
      expect(error).toMatchObject({ status: 502, code: 'upstream_error' });
      expectOurWords(error.message);
      expect(await parley.recordOf(response)).toMatchObject({ state: 'failed', code: 'upstream_error' });
      const mayHaveRun = !error.message.includes('without an answer');
      expect(response.headers.get('x-should-retry')).toBe(mayHaveRun ? 'false' : null);
      const { metadata } = errorInfo(
        new ParleyError('upstream_error', { hasRun: mayHaveRun }),
        newRequestId(0),
      );
      expect(metadata['should_retry']).toBe(mayHaveRun ? 'false' : undefined);
    }
    expect([upstream.requests.length, await balance()]).toEqual([Number(before[0]) + 2, before[1]]);
  });

  it.each([
    ['an error event', ['event: error\ndata: {"message":"upstream words"}\n\n']],
    ['an error', text({ error: { message: 'upstream words' } })],
    ['an error beside a choice', text(chunk({ content: '' }, {}, { error: { code: 502 } }))],
    ['what is no JSON', ['data: {"id":\n\n']],
    ['what is no object', ['data: 7\n\n']],
    ['nothing but comments', [': ping\n\n', ': ping\n\n']],
    ['nothing but [DONE]', ['data: [DONE]\n\n']],
  ])('a stream of %s is a 502', async (_, parts) => {
    upstream.answer(path, eventText(parts));
    const response = await ask({ stream: true });
    const error = await errorOf(response);
    expect(error).toMatchObject({ status: 502, code: 'upstream_error' });
    expectOurWords(error.message);
  });

  it.each([
    ['a line', [`data: ${'x'.repeat(34_000_000)}`]],
    ['an event', Array.from({ length: 34 }, () => `data: ${'x'.repeat(1_000_000)}\n`)],
  ])(
    'a stream of %s without an end is a 502, or an error event if its headers have left',
    async (_, parts) => {
      upstream.answer(path, eventText(parts));
      const response = await ask({ stream: true });
      // They leave after two seconds, in which a busy machine does not read 34 MB.
      const error = response.status === 200 ? await errorEventOf(response) : await errorOf(response);
      expect(error).toMatchObject({
        code: 'upstream_error',
        ...(response.status !== 200 && { status: 502 }),
      });
      expectOurWords(error.message);
    },
  );
});

async function errorEventOf(response: Response): Promise<ErrorBody['error']> {
  const { events: got, isDone } = await readEvents(response);
  expect(isDone).toBe(false);
  return got.at(-1).error;
}

describe('a stream that fails after it has begun', () => {
  const begun = text(chunk({ role: 'assistant' }), chunk({ content: 'so far' }));
  it.each<[string, Answer]>([
    ['a reset', eventText(begun, { ending: 'reset', everyMs: 20 })],
    ['a pause that is too long', eventText(begun, { ending: 'stall' })],
    ['its end without a finish reason', eventText(begun)],
    ['the finish reason `error`', eventText([...begun, ...text(chunk({}, { finish_reason: 'error' }))])],
    ['an end within an event', eventText([...begun, 'data: {"id":"x","choi'])],
    ['an error event', eventText([...begun, 'event: error\ndata: {}\n\n', 'data: [DONE]\n\n'])],
    ['an error', eventText([...begun, ...text({ error: { message: 'upstream words' } })])],
    ['what is no JSON', eventText([...begun, 'data: oops\n\n'])],
    ['an event that is too long', eventText([...begun, `data: "${'x'.repeat(34_000_000)}"\n\n`])],
  ])('%s: an error event, no [DONE], no charge', async (_, answer) => {
    upstream.answer(path, answer);
    const before = await balance();
    const response = await ask({ stream: true });
    expect(response.status).toBe(200);
    const { events: got, isDone } = await readEvents(response);
    expect(isDone).toBe(false);
    expect(got[1].choices[0].delta.content).toBe('so far');
    expect(got.at(-1)).toMatchObject({ error: { code: 'upstream_error', type: 'server_error' } });
    expectOurWords(got.at(-1).error.message);
    expect(await parley.recordOf(response)).toMatchObject({ state: 'failed', code: 'upstream_error' });
    expect(await balance()).toBe(before);
  });
});

describe('time', () => {
  it('to the first byte is bounded', async () => {
    upstream.answer(path, json(completion(), { afterMs: 5_000 }));
    const error = await errorOf(await ask());
    expect(error).toMatchObject({ status: 502, message: expect.stringContaining('in time') });
    await upstream.requests.at(-1)?.aborted;
  });

  it('between two bytes is bounded, and comments count as bytes', async () => {
    const words = chunks('a').map((part) => `data: ${JSON.stringify(part)}\n\n`);
    upstream.answer(path, eventText([': wait\n\n', ': wait\n\n', ': wait\n\n', ...words], { everyMs: 150 }));
    expect(await readEvents(await ask({ stream: true }))).toMatchObject({ text: 'a', isDone: true });
    upstream.answer(
      path,
      pieces(['{"id"'], { headers: { 'content-type': 'application/json' }, ending: 'stall' }),
    );
    expect(await errorOf(await ask())).toMatchObject({ status: 502 });
    await upstream.requests.at(-1)?.aborted;
  });

  it('in total is limited, even if an answer arrives steadily', async () => {
    const event = text(chunk({ content: 'x' })).join('');
    const drip = eventText(Array(100).fill(event), { everyMs: 50 });
    for (const answer of [drip, endless(event, eventStream)]) {
      upstream.answer(path, answer);
      const { events: got, isDone } = await readEvents(await ask({ stream: true }));
      expect(isDone).toBe(true);
      expect(got.flatMap(({ choices }) => choices).at(-1).finish_reason).toBe('length');
      await upstream.requests.at(-1)?.aborted;
    }
  });

  it('of a slow client does not count against the upstream', async () => {
    const long = chunks(...Array<string>(3_000).fill('x'.repeat(1_000)));
    upstream.answer(path, events(long));
    const patient = await behind(upstream.baseUrl, { engine: { ...quick, totalMs: 60_000 } });
    const response = await patient.postJson(path, { ...question, stream: true });
    const reader = response.body?.getReader();
    await reader?.read();
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    let bytes = 0;
    let last = '';
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
      bytes += part.value.length;
      last = new TextDecoder().decode(part.value).slice(-20);
    }
    expect(bytes).toBeGreaterThan(3_000_000);
    expect(last).toContain('[DONE]');
  });
});

describe('an upstream that cannot be reached', () => {
  const many = { retriesMax: 0, breakerFailures: 1_000 };

  it('refuses connections: 502', async () => {
    const closed = await startScriptedUpstream();
    await closed.stop();
    const response = await (await behind(closed.baseUrl, { engine: many })).postJson(path, question);
    const error = await errorOf(response);
    expect(error).toMatchObject({ status: 502, code: 'upstream_error' });
    expect(error.message).toContain('cannot be reached');
    expectOurWords(error.message);
  });

  it('has an unknown host name: 502', async () => {
    const parley = await behind('http://nowhere.invalid/v1', { engine: many });
    expect(await errorOf(await parley.postJson(path, question))).toMatchObject({ status: 502 });
  });

  it('has an untrusted certificate: 502', async () => {
    const tls = await startScriptedUpstream(makeCertificate('upstream'));
    afterTest(() => tls.stop());
    const parley = await behind(tls.baseUrl, { engine: many });
    expect(await errorOf(await parley.postJson(path, question))).toMatchObject({ status: 502 });
    expect(tls.requests).toHaveLength(0);
  });

  it('does not speak TLS: 502', async () => {
    const parley = await behind(upstream.baseUrl.replace('http:', 'https:'), { engine: many });
    expect(await errorOf(await parley.postJson(path, question))).toMatchObject({ status: 502 });
  });

  it('takes too long to connect: 502', async () => {
    const mute = await startMuteServer();
    afterTest(() => mute.close());
    const parley = await behind(`https://127.0.0.1:${mute.port}/v1`, { engine: { ...many, connectMs: 200 } });
    expect(await errorOf(await parley.postJson(path, question))).toMatchObject({ status: 502 });
  });
});
