/** Chat through an OpenAI-compatible upstream: requests, answers and costs. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { operatorMembers } from '../../../src/engines/openai/chat/operator-members.ts';
import { servedModel, startBehind, upstreamKey } from '../../support/behind-upstream.ts';
import { chunk, chunks, completion, question, readEvents, reported } from '../../support/chat-answers.ts';
import { errorOf } from '../../support/parley.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { events, eventText, json, pieces } from '../../support/upstream-answers.ts';

const path = '/chat/completions';
const upstream = await startScriptedUpstream();
const parley = await startBehind(upstream.baseUrl, {
  engine: { headers: { 'X-Team': 'edge', Authorization: 'Bearer not-this-one' } },
});
afterAll(async () => {
  await parley.close();
  await upstream.stop();
});
beforeEach(() => upstream.answer(path, json(completion())));

const ask = (body: object = {}) => parley.postJson(path, { ...question, ...body });
const stream = (body: object = {}) => ask({ stream: true, ...body });
const lastRequest = () => upstream.requests.at(-1)?.json;
const balance = async () => (await parley.app.store.accounts.find(parley.accountId))?.balance;

describe('a request', () => {
  it("reaches the upstream under its base URL, with the upstream's model name and the configured key", async () => {
    await ask();
    const request = upstream.requests.at(-1);
    expect(request).toMatchObject({ method: 'POST', path });
    expect(request?.headers).toMatchObject({
      authorization: `Bearer ${upstreamKey}`,
      'content-type': 'application/json',
      'x-team': 'edge',
    });
    expect(request?.json).toEqual({ ...question, model: 'upstream-model', stream: false, max_tokens: 4096 });
  });

  it('may have a fraction of a token for its thinking', async () => {
    const thinking = { type: 'enabled', budget_tokens: 10.5 };
    expect((await ask({ thinking })).status).toBe(200);
    expect(lastRequest()).toMatchObject({ thinking });
  });

  it('forwards no header of the client', async () => {
    await parley.postJson(path, question, {
      headers: {
        authorization: `Bearer ${parley.apiKey}`,
        cookie: 'a=b',
        'x-forwarded-for': '1.1.1.1',
        'openai-beta': 'x',
      },
    });
    const names = Object.keys(upstream.requests.at(-1)?.headers ?? {}).sort();
    expect(names).toEqual([
      'accept',
      'accept-encoding',
      'authorization',
      'connection',
      'content-length',
      'content-type',
      'host',
      'x-team',
    ]);
    expect(JSON.stringify(upstream.requests.at(-1)?.headers)).not.toContain(parley.apiKey);
  });

  it('forwards every sampling parameter, known or unknown', async () => {
    const sampling = {
      temperature: 0.1,
      top_p: 1e-7,
      n: 2,
      stop: ['a', 'b'],
      seed: 7,
      frequency_penalty: -2,
      presence_penalty: 0.5,
      logit_bias: { '50256': -100 },
      logprobs: true,
      top_logprobs: 3,
      reasoning_effort: 'high',
      verbosity: 'low',
      top_k: 40,
      min_p: null,
      chat_template_kwargs: { enable_thinking: false },
    };
    upstream.answer(path, json(completion('x', { choices: twoChoices })));
    expect((await ask(sampling)).status).toBe(200);
    expect(lastRequest()).toMatchObject(sampling);
  });

  it('forwards tools, an output schema, images and audio', async () => {
    const content = [
      { type: 'text', text: 'what is this?' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    ];
    const schema = {
      type: 'object',
      properties: { b: { type: 'string' }, a: { type: 'null' } },
      required: ['b'],
    };
    const body = {
      messages: [{ role: 'user', content }],
      tools: [{ type: 'function', function: { name: 'look', parameters: schema, strict: true } }],
      tool_choice: { type: 'function', function: { name: 'look' } },
      parallel_tool_calls: false,
      response_format: { type: 'json_schema', json_schema: { name: 'thing', schema, strict: true } },
    };
    await ask(body);
    expect(lastRequest()).toEqual({ ...body, model: 'upstream-model', stream: false, max_tokens: 4096 });
    // Models write properties in the order of the schema.
    expect(Object.keys(lastRequest().response_format.json_schema.schema.properties)).toEqual(['b', 'a']);
  });

  it('always asks for the usage of a stream and keeps the other options', async () => {
    upstream.answer(path, events(chunks('a')));
    await (await stream()).text();
    expect(lastRequest()).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    await (await stream({ stream_options: { include_usage: false, include_obfuscation: false } })).text();
    expect(lastRequest().stream_options).toEqual({ include_usage: true, include_obfuscation: false });
  });

  it.each<[string, object, number]>([
    ['null', { max_tokens: null }, 4096],
    ['0', { max_tokens: 0 }, 4096],
    ['-1', { max_tokens: -1 }, 4096],
    ['both names', { max_tokens: 1, max_completion_tokens: 4000 }, 1],
    ['the name of llama.cpp', { n_predict: 7 }, 7],
    ['that name beside another', { max_tokens: 5, n_predict: 4000 }, 5],
    ['another case, as Go reads it', { max_tokens: 5, Max_Tokens: 4000, 'max_to\u212aens': 3000 }, 5],
    ['more than the model gives', { max_completion_tokens: 1e6 }, 4096],
  ])('with a limit as %s has only the limit of the hold', async (_, limits, limit) => {
    expect((await ask(limits)).status).toBe(200);
    expect(lastRequest()).toEqual({ ...question, model: 'upstream-model', stream: false, max_tokens: limit });
  });

  it.each<object>([
    {
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: 'data:image/png;base64,AAAA' }] }],
    },
    { messages: [{ role: 'user', content: ['a', { type: 'text', text: 5 }] }] },
    { messages: [{ role: 'user', content: 'x', name: 5, tool_calls: 'none' }] },
    { logprobs: 3, top_logprobs: true },
    { logit_bias: [[1, -100]] },
    { seed: 'abc', stop: 5, temperature: '0.5', user: 7 },
    { metadata: { a: 1, b: ['x'] } },
    {
      tools: [{ type: 'function', function: 'f' }],
      response_format: 'json',
      store: 'yes',
      modalities: 'text',
    },
  ])('passes %j on, as the model decides about it', async (members) => {
    expect((await ask(members)).status).toBe(200);
    const limit = { max_tokens: expect.any(Number) };
    expect(lastRequest()).toEqual({
      ...question,
      ...members,
      ...limit,
      model: 'upstream-model',
      stream: false,
    });
  });

  it.each<[string, object, string]>([
    ['invalid_messages', { messages: [{ role: 'user', content: 5 }] }, 'messages[0].content'],
    ['invalid_messages', { messages: [{ role: 5, content: 'x' }] }, 'messages[0].role'],
    ['invalid_messages', { messages: 'hello' }, 'messages'],
    ['invalid_messages', { messages: [null] }, 'messages[0]'],
    ['missing_messages', { messages: null }, 'messages'],
    ['invalid_parameter', { model: 1 }, 'model'],
    ['invalid_parameter', { n: '2' }, 'n'],
    ['invalid_parameter', { max_tokens: '5' }, 'max_tokens'],
    ['invalid_parameter', { max_completion_tokens: 1.5 }, 'max_completion_tokens'],
    ['invalid_parameter', { stream: 'yes' }, 'stream'],
  ])('is refused as %s with %j', async (code, members, param) => {
    const response = await ask(members);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code, param } });
  });

  it('may have 100 levels, and no more', async () => {
    const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
    expect((await ask({ own: nested(99) })).status).toBe(200);
    const { status, message } = await errorOf(await ask({ own: nested(100) }));
    expect([status, message]).toEqual([400, expect.stringContaining('100 levels')]);
  });

  it('leaves room for the prompt in the context, and fills small contexts only by half', async () => {
    const models = [{ ...servedModel, contextTokens: 2000, outputTokensMax: 2000 }];
    const small = await startBehind(upstream.baseUrl, { models });
    const sentFor = async (content: string) => {
      const body = { ...question, messages: [{ role: 'user', content }] };
      expect((await small.postJson(path, body)).status).toBe(200);
      return lastRequest().max_tokens;
    };
    expect(await sentFor('hello')).toBeGreaterThan(1800);
    const long = await sentFor('hello '.repeat(1000));
    expect(long).toBeLessThan(1000);
    expect(long).toBeGreaterThan(600);
    expect(await sentFor('hello '.repeat(3000))).toBe(1);
    await small.close();
  });

  it('has no member by which a client takes another model, route, key or price, on any path', async () => {
    const keys = ['aws_access_key_id', 'vertex_credentials', 'azure_ad_token'];
    const names = [...operatorMembers, ...keys, 'extra_body', 'extra_headers', 'providerOptions'];
    const chosen = Object.fromEntries(names.map((name) => [name, 'other']));
    await ask({ ...chosen, provider: { order: ['cheap'] }, seed: 7 });
    expect(lastRequest()).toEqual({
      ...question,
      seed: 7,
      model: 'upstream-model',
      stream: false,
      max_tokens: 4096,
    });
    for (const [dialect, body] of [
      ['/responses', { input: 'hello' }],
      ['/messages', { messages: question.messages, max_tokens: 5 }],
      ['/completions', { prompt: 'hello' }],
    ] as const) {
      const { status } = await parley.postJson(dialect, { ...chosen, model: 'served', ...body });
      expect(status, dialect).toBe(200);
      const sent = Object.keys(lastRequest());
      expect(sent.filter((name) => Object.hasOwn(chosen, name))).toEqual([]);
    }
  });

  it('has the members that the operator allows and sets, and not those that are dropped', async () => {
    const parameters = { drop: ['logit_bias'], allow: ['service_tier'], set: { top_k: 20, seed: 1 } };
    const other = await startBehind(upstream.baseUrl, { engine: { parameters } });
    await other.postJson(path, {
      ...question,
      logit_bias: { 5: 1 },
      service_tier: 'flex',
      seed: 7,
      route: 'x',
    });
    expect(lastRequest()).toEqual({
      ...question,
      service_tier: 'flex',
      top_k: 20,
      seed: 1,
      model: 'upstream-model',
      stream: false,
      max_tokens: 4096,
    });
    await other.close();
  });

  it.each<[string, object]>([
    ['max_completion_tokens', { max_completion_tokens: 9 }],
    ['both', { max_tokens: 9, max_completion_tokens: 9 }],
  ])('has its limit under the names of the setting %s', async (outputLimit, expected) => {
    const other = await startBehind(upstream.baseUrl, { engine: { outputLimit } });
    await other.postJson(path, { ...question, max_tokens: 9 });
    expect(lastRequest()).toEqual({ ...question, ...expected, model: 'upstream-model', stream: false });
    await other.close();
  });
});

const twoChoices = [0, 1].map((index) => ({
  index,
  message: { role: 'assistant', content: `answer ${index}` },
  finish_reason: 'stop',
}));

describe('a plain answer', () => {
  it("comes back unchanged except for the client's model name, and is charged by its usage", async () => {
    const before = await balance();
    const answer = completion('hello', {
      system_fingerprint: 'fp',
      service_tier: 'default',
      x_new: { y: [1, null] },
    });
    upstream.answer(path, json(answer));
    const response = await ask();
    expect(await response.json()).toEqual({ ...answer, model: 'served' });
    const record = await parley.recordOf(response);
    expect(record).toMatchObject({
      state: 'ok',
      model: 'served',
      tokens: { promptTokens: 9, completionTokens: 4, totalTokens: 13, source: 'reported' },
      cost: 13_000n,
    });
    expect(await balance()).toBe((before ?? 0n) - 13_000n);
  });

  it('may have several choices, tool calls, reasoning, refusals and log probabilities', async () => {
    const calls = [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"é"}' } }];
    const logprobs = {
      content: [{ token: 'a', logprob: -0.5, bytes: [97], top_logprobs: [] }],
      refusal: null,
    };
    const choices = [
      {
        index: 0,
        message: { role: 'assistant', content: null, tool_calls: calls },
        finish_reason: 'tool_calls',
      },
      {
        index: 1,
        message: { role: 'assistant', content: 'a', reasoning_content: 'so…' },
        logprobs,
        finish_reason: 'stop',
      },
      { index: 2, message: { role: 'assistant', content: null, refusal: 'no' }, finish_reason: 'stop' },
    ];
    upstream.answer(path, json(completion('', { choices })));
    expect(await (await ask({ n: 3 })).json()).toMatchObject({ choices });
  });

  it('is counted by Parley if its usage is missing or malformed', async () => {
    for (const usage of [
      undefined,
      null,
      'many',
      { prompt_tokens: -1, completion_tokens: 2, total_tokens: 1 },
    ]) {
      upstream.answer(path, json(completion('hello there', { usage })));
      const response = await ask();
      const { usage: told } = (await response.json()) as { usage: unknown };
      const { tokens } = await parley.recordOf(response);
      expect(tokens).toMatchObject({ source: 'estimated', completionTokens: 2 });
      expect(told).toEqual({
        prompt_tokens: tokens?.promptTokens,
        completion_tokens: 2,
        total_tokens: tokens?.totalTokens,
      });
    }
  });
});

describe('a streamed answer', () => {
  it('comes back chunk by chunk, with the usage on the last, and is charged by it', async () => {
    upstream.answer(path, events(chunks('hello', ' there')));
    const response = await stream();
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const { events: got, isDone, text } = await readEvents(response);
    expect(text).toBe('hello there');
    expect(isDone).toBe(true);
    expect(got.every(({ model }) => model === 'served')).toBe(true);
    expect(got.at(-1)).toMatchObject({ choices: [{ finish_reason: 'stop' }], usage: reported });
    expect(got.filter(({ usage }) => usage)).toHaveLength(1);
    expect(await parley.recordOf(response)).toMatchObject({ state: 'ok', cost: 13_000n });
  });

  it('has its usage in a separate chunk if the client asks for it', async () => {
    const sent = chunks('a').map((part) => ({ usage: null, ...part }));
    upstream.answer(path, events(sent));
    const { events: got } = await readEvents(await stream({ stream_options: { include_usage: true } }));
    expect(got.at(-1)).toMatchObject({ choices: [], usage: reported });
    expect(got.at(-2)).toMatchObject({ choices: [{ finish_reason: 'stop' }] });
    expect(got.filter(({ usage }) => usage)).toHaveLength(1);
  });

  it('has its usage on the last chunk even if the upstream sends `usage: null` there', async () => {
    upstream.answer(path, events(chunks('a').map((part) => ({ usage: null, ...part }))));
    const { events: got } = await readEvents(await stream());
    expect(got.at(-1)).toMatchObject({ choices: [{ finish_reason: 'stop' }], usage: reported });
  });

  it('is forwarded as it arrives', async () => {
    upstream.answer(path, events(chunks('first', 'second'), { everyMs: 300 }));
    const reader = (await stream()).body?.getReader();
    let text = '';
    while (!text.includes('first')) text += new TextDecoder().decode((await reader?.read())?.value);
    expect(text).not.toContain('second');
    await reader?.cancel();
  });

  it.each([
    ['one byte at a time', (text: Buffer) => [...text].map((byte) => Buffer.from([byte]))],
    ['in pieces of seven bytes', (text: Buffer) => cut(text, 7)],
    ['in one piece', (text: Buffer) => [text]],
  ])('is the same when it comes %s', async (_, cutUp) => {
    for (const lineEnd of ['\n', '\r\n', '\r']) {
      const lines = chunks('naïve ', '日本語', ' 🎉').flatMap((part) => [
        `data: ${JSON.stringify(part)}`,
        '',
      ]);
      const text = [
        ': a comment',
        'event: message',
        'id: 7',
        'retry: 10',
        ...lines,
        'data:[DONE]',
        '',
        '',
      ].join(lineEnd);
      upstream.answer(path, eventText(cutUp(Buffer.from(text)), { everyMs: 0 }));
      const { text: got, isDone } = await readEvents(await stream());
      expect(got).toBe('naïve 日本語 🎉');
      expect(isDone).toBe(true);
    }
  });

  it('may have several choices, streamed tool calls and reasoning', async () => {
    const call = (more: object) => ({ tool_calls: [{ index: 0, ...more }] });
    const sent = [
      chunk({ role: 'assistant', reasoning_content: 'hm' }),
      chunk(call({ id: 'call_1', type: 'function', function: { name: 'look', arguments: '' } })),
      chunk(call({ function: { arguments: '{"at":' } })),
      chunk(
        { content: 'b' },
        { index: 1, logprobs: { content: [{ token: 'b', logprob: -1, bytes: null, top_logprobs: [] }] } },
      ),
      chunk(call({ function: { arguments: '1}' } })),
      chunk({}, { finish_reason: 'tool_calls' }),
      chunk({}, { index: 1, finish_reason: 'stop' }, { usage: reported }),
    ];
    upstream.answer(path, events(sent));
    const { events: got, isDone } = await readEvents(await stream({ n: 2 }));
    expect(isDone).toBe(true);
    expect(got).toEqual(sent.map((part) => ({ ...part, model: 'served' })));
  });

  const look = (text: string, more: object = {}) => ({
    ...more,
    function: { name: 'look', arguments: text },
  });
  const rest = (text: string, more: object = {}) => ({ ...more, function: { arguments: text } });
  const [a, b] = [{ id: 'call_a' }, { id: 'call_b' }];
  const zero = { index: 0 };

  it.each<[string, object[], number[]]>([
    [
      '0',
      [
        look('{"at":', { ...zero, ...a }),
        rest('1}', zero),
        look('{"at":', { ...zero, ...b }),
        rest('2}', zero),
      ],
      [0, 0, 1, 1],
    ],
    ['0, without ids', [look('{"at":1}', zero), look('{"at":2}', zero), look('{"at":3}', zero)], [0, 1, 2]],
    ['nothing', [look('{"at":', a), rest('1}'), look('{"at":', b), rest('2}')], [0, 0, 1, 1]],
    ['nothing, without ids', [look('{"at":'), rest('1}'), look('{}')], [0, 0, 1]],
    [
      'rightly, but from 1',
      [look('{', { index: 1, ...a }), rest('}', { index: 1 }), look('{}', { index: 2, ...b })],
      [1, 1, 2],
    ],
  ])('has the index of each call, if the upstream numbers its calls %s', async (_, pieces, indexes) => {
    const sent = pieces.map((piece) => chunk({ tool_calls: [piece] }));
    upstream.answer(path, events([...sent, chunk({}, { finish_reason: 'tool_calls' })]));
    const { events: got } = await readEvents(await stream());
    const calls = got.flatMap(({ choices }) =>
      choices.flatMap(({ delta }: { delta: { tool_calls?: object[] } }) => delta.tool_calls ?? []),
    );
    expect(calls).toEqual(pieces.map((piece, at) => ({ ...piece, index: indexes[at] })));
  });

  const whole = (content: string, more: object = {}) => ({
    choices: [{ index: 0, message: { role: 'assistant', content, ...more }, finish_reason: 'stop' }],
    usage: reported,
  });
  const piece = (content: string, more: object = {}) => ({
    choices: [{ index: 0, message: { content, ...more }, finish_reason: null }],
  });
  it.each<[string, object[]]>([
    ['repeats the whole answer as a message at its end', [...chunks('a ', 'b').slice(0, -1), whole('a b')]],
    ['sends each piece as a message', [piece('a '), piece('b'), whole('')]],
    ['sends pieces as messages, and repeats them', [piece('a '), piece('b'), whole('a b')]],
    ['is one message', [whole('a b')]],
    ['is one message after its role', [chunk({ role: 'assistant', content: '' }), whole('a b')]],
  ])('has its text once if the upstream %s', async (_, sent) => {
    upstream.answer(path, events(sent));
    const response = await stream();
    expect(await readEvents(response)).toMatchObject({ text: 'a b', isDone: true });
    expect(await parley.recordOf(response)).toMatchObject({ state: 'ok', tokens: { source: 'reported' } });
    const plain = await parley.postJson(path, question);
    expect(await plain.json()).toMatchObject({ choices: [{ message: { content: 'a b' } }] });
  });

  it('has a piece twice that an upstream sends twice as a message', async () => {
    upstream.answer(path, events([piece('ha'), piece('ha'), piece('haha'), whole('')]));
    expect((await readEvents(await stream())).text).toBe('hahahaha');
    const plain = await parley.postJson(path, question);
    expect(await plain.json()).toMatchObject({ choices: [{ message: { content: 'hahahaha' } }] });
  });

  it('has the calls of its messages once if the last one repeats them', async () => {
    const calls = { tool_calls: [look('{}', { ...a })] };
    upstream.answer(path, events([piece('a b', calls), whole('a b', calls)]));
    const plain = (await (await parley.postJson(path, question)).json()) as {
      choices: [{ message: object }];
    };
    expect(plain.choices[0].message).toMatchObject({ content: 'a b', ...calls });
  });

  it('keeps calls that only the message at its end has, also without a list', async () => {
    const call = look('{}', { ...a });
    upstream.answer(path, events([chunk({ content: 'a b' }), whole('a b', { tool_calls: call })]));
    const { text, events: got } = await readEvents(await stream());
    expect(text).toBe('a b');
    expect(got.at(-1).choices[0].delta.tool_calls).toEqual([{ ...call, index: 0 }]);
    upstream.answer(
      path,
      json({ choices: [{ message: { tool_calls: call }, finish_reason: 'tool_calls' }] }),
    );
    const plain = (await (await parley.postJson(path, question)).json()) as {
      choices: [{ message: object }];
    };
    expect(plain.choices[0].message).toMatchObject({ tool_calls: [call] });
  });

  it.each([false, true])(
    'has the text and the thinking of a content that is a list (stream: %s)',
    async (isStream) => {
      const think = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }] });
      const say = (text: string) => ({ type: 'text', text });
      const parts = [
        think('first'),
        think(' this'),
        say('then'),
        ...Array.from({ length: 20 }, () => say(' that')),
      ];
      const sent = isStream
        ? events([
            ...parts.map((part) => chunk({ content: [part] })),
            chunk({}, { finish_reason: 'model_length' }),
          ])
        : json(
            completion('', {
              choices: [{ index: 0, message: { role: 'assistant', content: parts }, finish_reason: 'stop' }],
            }),
          );
      upstream.answer(path, sent);
      const text = `then${' that'.repeat(20)}`;
      if (!isStream) {
        const { choices } = (await (await ask()).json()) as { choices: unknown };
        expect(choices).toMatchObject([{ message: { content: text, reasoning_content: 'first this' } }]);
      } else {
        const { events: got, text: heard } = await readEvents(await stream());
        const deltas = got.map(({ choices: [{ delta }] }) => delta);
        expect([heard, deltas.map((delta) => delta.reasoning_content ?? '').join('')]).toEqual([
          text,
          'first this',
        ]);
        expect(got.at(-1)?.choices[0].finish_reason).toBe('length');
      }
      upstream.answer(path, sent);
      const message = await parley.postJson('/messages', { ...question, max_tokens: 50, stream: false });
      if (!isStream)
        expect(await message.json()).toMatchObject({ content: [{ thinking: 'first this' }, { text }] });
    },
  );

  it('is refused if its choices have higher numbers than a request can have choices', async () => {
    const ofChoice = (index: number) => ({
      choices: [{ index, delta: { content: 'a' }, finish_reason: null }],
    });
    upstream.answer(path, events([ofChoice(1_000), ...chunks('a')]));
    expect(await (await stream()).json()).toMatchObject({ error: { code: 'upstream_error' } });
  });

  it('is complete without [DONE] if every choice has its finish reason', async () => {
    upstream.answer(path, events(chunks('a'), { done: false }));
    const response = await stream();
    expect(await readEvents(response)).toMatchObject({ text: 'a', isDone: true });
    expect((await parley.recordOf(response)).state).toBe('ok');
  });

  it.each<[string, Parameters<typeof chunk>[0][], string]>([
    ['no finish reason', [{ content: 'a' }], 'stop'],
    ['an empty finish reason', [{ content: 'a' }, {}], 'stop'],
    ['tool calls without a finish reason', [{ tool_calls: [look('{}', { ...zero, ...a })] }], 'tool_calls'],
  ])('is complete with [DONE] and %s, and is charged', async (_, deltas, reason) => {
    const sent = deltas.map((delta, at) => chunk(delta, at > 0 ? { finish_reason: '' } : {}));
    const usage = chunk({}, {}, { choices: [], usage: reported });
    upstream.answer(path, events([...sent, usage]));
    const response = await stream();
    const { events: got, isDone } = await readEvents(response);
    expect(isDone).toBe(true);
    expect(got.at(-1)).toMatchObject({ id: got[0].id, choices: [{ index: 0, finish_reason: reason }] });
    expect(await parley.recordOf(response)).toMatchObject({ state: 'ok', tokens: { source: 'reported' } });
  });

  it.each(['text/plain', 'application/json', 'application/octet-stream', undefined])(
    'is read as what it is, if its type is %s: events, or an answer in place of a stream',
    async (type) => {
      const headers = type === undefined ? {} : { 'content-type': type };
      const sent = chunks('a', ' b').map((part) => `data: ${JSON.stringify(part)}\n\n`);
      upstream.answer(path, pieces([...sent, 'data: [DONE]\n\n'], { headers, everyMs: 5 }));
      expect(await readEvents(await stream())).toMatchObject({ text: 'a b', isDone: true });
      const plain = JSON.stringify(completion('a b'));
      upstream.answer(path, pieces([plain.slice(0, 30), plain.slice(30)], { headers, everyMs: 5 }));
      const response = await stream();
      expect(await readEvents(response)).toMatchObject({ text: 'a b', isDone: true });
      expect(await parley.recordOf(response)).toMatchObject({ state: 'ok', tokens: { source: 'reported' } });
    },
  );

  it('may have an event as long as a picture', async () => {
    const picture = chunk({ images: ['x'.repeat(2_000_000)] });
    upstream.answer(path, events([chunk({ content: 'a' }), picture, chunk({}, { finish_reason: 'stop' })]));
    const { events: got, isDone } = await readEvents(await stream());
    expect(isDone).toBe(true);
    expect(got[1].choices[0].delta.images[0]).toHaveLength(2_000_000);
  });

  it('is complete if the last event lacks its blank line', async () => {
    const [last, ...others] = chunks('a').reverse();
    const text = others.reverse().map((part) => `data: ${JSON.stringify(part)}\n\n`);
    upstream.answer(path, eventText([...text, `data: ${JSON.stringify(last)}`]));
    expect(await readEvents(await stream())).toMatchObject({
      text: 'a',
      isDone: true,
      events: expect.anything(),
    });
    expect((await parley.recordOf(await stream())).tokens?.source).toBe('reported');
  });

  it('reaches the client up to the failure, even if it arrives in one piece', async () => {
    const [, first] = chunks('a');
    const text = `data: ${JSON.stringify(first)}\n\ndata: nonsense\n\ndata: [DONE]\n\n`;
    upstream.answer(path, eventText([text]));
    const response = await stream();
    expect(await readEvents(response)).toMatchObject({
      text: 'a',
      isDone: false,
      events: [{}, { error: { code: 'upstream_error' } }],
    });
    expect(await parley.recordOf(response)).toMatchObject({ state: 'failed', cost: undefined });
  });

  it('ends with [DONE] and ignores later data', async () => {
    const text = [
      ...chunks('a').map((part) => `data: ${JSON.stringify(part)}\n\n`),
      'data: [DONE]\n\n',
      'data: nonsense\n\n',
    ];
    upstream.answer(path, eventText(text, { ending: 'stall' }));
    expect(await readEvents(await stream())).toMatchObject({ text: 'a', isDone: true });
    await upstream.requests.at(-1)?.aborted;
  });
});

describe('a client that leaves a stream', () => {
  const image = [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }];
  /** Leaves after the first text, before the upstream has sent everything. */
  const leaveAfterText = async (body: object) => {
    const leave = new AbortController();
    const response = await parley.postJson(
      path,
      { ...question, stream: true, ...body },
      { signal: leave.signal },
    );
    const reader = response.body?.getReader();
    while (!Buffer.from((await reader?.read())?.value ?? 'hello').includes('hello'));
    leave.abort();
    return parley.recordOf(response);
  };
  const report = (prompt_tokens: number, completion_tokens: number) => ({
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
  });

  it("pays the upstream's final report for a prompt with references and for hidden reasoning", async () => {
    const last = { ...chunk({}), choices: [], ...report(9_000, 2_000) };
    const parts = [chunk({ content: 'hello' }), chunk({}, { finish_reason: 'stop' }), last];
    upstream.answer(path, events(parts, { everyMs: 150 }));
    const record = await leaveAfterText({ messages: [{ role: 'user', content: image }] });
    expect(record).toMatchObject({
      state: 'cancelled',
      cost: 11_000_000n,
      tokens: { promptTokens: 9_000, completionTokens: 2_000, source: 'reported' },
    });
    expect(upstream.requests.at(-1)?.isAborted).toBe(false);
  });

  it('pays the last report if that is larger than our own count', async () => {
    const first = chunk({ content: 'hello' }, {}, report(500, 300));
    upstream.answer(
      path,
      events([first, chunk({ content: ' world' })], { everyMs: 50, ending: 'stall', done: false }),
    );
    const record = await leaveAfterText({});
    expect(record).toMatchObject({
      state: 'cancelled',
      tokens: { promptTokens: 500, completionTokens: 300 },
    });
    expect(record.cost).toBe(800_000n);
    expect(upstream.requests.at(-1)?.isAborted).toBe(true);
  });

  it('pays our own count if the upstream fails afterwards', async () => {
    upstream.answer(
      path,
      events([chunk({ content: 'hello' }), chunk({ content: 'you' })], {
        everyMs: 150,
        ending: 'reset',
        done: false,
      }),
    );
    const { state, tokens } = await leaveAfterText({ messages: [{ role: 'user', content: image }] });
    expect(state).toBe('cancelled');
    expect(tokens).toMatchObject({ source: 'estimated' });
  });
});

describe('connections', () => {
  it('are reused after plain answers and after streams', async () => {
    await ask();
    const before = upstream.connections;
    for (let round = 0; round < 5; round++) {
      upstream.answer(path, json(completion()));
      await (await ask()).text();
      upstream.answer(path, events(chunks('a')));
      await (await stream()).text();
    }
    expect(upstream.connections).toBe(before);
  });

  it('are reused if a stream ends a moment after [DONE]', async () => {
    const text = [...chunks('a').map((part) => `data: ${JSON.stringify(part)}\n\n`), 'data: [DONE]\n\n'].join(
      '',
    );
    upstream.answer(
      path,
      pieces([text, ': bye\n\n'], { headers: { 'content-type': 'text/event-stream' }, everyMs: 20 }),
    );
    await (await stream()).text();
    await new Promise((resolve) => setTimeout(resolve, 200));
    const before = upstream.requests.at(-1)?.connection;
    await (await stream()).text();
    expect(upstream.requests.at(-1)?.connection).toBe(before);
  });
});

function cut(text: Buffer, bytes: number): Buffer[] {
  return Array.from({ length: Math.ceil(text.length / bytes) }, (_, index) =>
    text.subarray(index * bytes, (index + 1) * bytes),
  );
}
