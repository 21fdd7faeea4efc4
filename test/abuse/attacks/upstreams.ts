import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import type { Answer } from '../../support/scripted-upstream.ts';
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
  whole,
} from '../../support/upstream-answers.ts';
import type { Attack, AttackClass } from '../attack.ts';
import { expectStatus } from '../harness/expected.ts';
import { mebibyte, repeated, restChatPath } from '../harness/messages.ts';
import { upstreamKey } from '../harness/server.ts';
import type { Target } from '../harness/target.ts';

const badGateway = 502;
/** An upstream may send 4 MiB for 50 tokens, and Parley adds members to each event. */
const answerBytesMax = 16 * mebibyte;
const body = (stream: boolean) =>
  JSON.stringify({ model: 'served', messages: [{ role: 'user', content: 'Hi.' }], max_tokens: 50, stream });
const jsonType = { 'content-type': 'application/json' };
const choice = (content: string) => ({ id: 'x', choices: [{ index: 0, delta: { content } }] });
const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const good = {
  id: 'x',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
};

async function ask(target: Target, answer: Answer, stream: boolean) {
  target.server.upstream.answer('/chat/completions', answer);
  return target.send({ path: restChatPath, body: body(stream), key: target.server.apiKey });
}

/** A plain answer, which must get one of these statuses. */
function plain(
  name: string,
  answer: () => Answer,
  statuses: readonly number[] = [badGateway],
  bytes = 0,
): Attack {
  return {
    name: `plain: ${name}`,
    by: 'customer',
    bytes,
    play: async (target) => expectStatus(await ask(target, answer(), false), ...statuses),
  };
}

/** A stream, which must end with an error or be cut before it exceeds so many bytes. */
function streamed(name: string, answer: () => Answer, bytes = 0): Attack {
  return {
    name: `stream: ${name}`,
    by: 'customer',
    bytes,
    async play(target) {
      const answered = await ask(target, answer(), true).catch(() => undefined);
      if (answered === undefined) return;
      expectStatus(answered, 200, badGateway);
      const isGood =
        answered.status === 200 &&
        answered.body.includes('data: [DONE]') &&
        !answered.body.includes('"error"');
      assert.ok(!isGood, 'the stream ended well');
      assert.ok(answered.body.length <= answerBytesMax, `${answered.body.length} bytes passed`);
    },
  };
}

const endlessEvents = () => endless(event(choice('word ')).repeat(100), eventStream);
const upstreamBytes = 32 * mebibyte;

export const upstreams: AttackClass = {
  title: 'Hostile upstreams',
  attacks: [
    plain(
      '32 MiB of choices',
      () => whole(`{"id":"x","choices":[${'{},'.repeat(upstreamBytes / 3 - 20)}{}]}`, { headers: jsonType }),
      [badGateway],
      upstreamBytes,
    ),
    plain(
      '31 MiB in one string',
      () => json({ ...good, more: 'x'.repeat(31 * mebibyte) }),
      [200, badGateway],
      upstreamBytes,
    ),
    plain(
      'nested a million levels',
      () => whole(`{"choices":${'['.repeat(1e6)}${']'.repeat(1e6)}}`, { headers: jsonType }),
      [badGateway],
      2e6,
    ),
    plain(
      'JSON without an end',
      () => endless('{"choices":[{"index":0}],'.repeat(10_000), jsonType),
      [badGateway],
      upstreamBytes,
    ),
    plain('an empty object', () => json({})),
    plain('null', () => json(null)),
    plain('no JSON', () => whole('<html>', { headers: jsonType })),
    plain('an error of 401', () => failure(401), [401]),
    plain(
      'an error with a body of 32 MiB',
      () => whole(repeated('x', upstreamBytes), { status: 500 }),
      [500, badGateway],
      upstreamBytes,
    ),
    plain('a redirect', () => redirect('http://127.0.0.1:1/'), [badGateway, 307]),
    plain('a status of 99', () => rawBytes('HTTP/1.1 99 No\r\ncontent-length: 0\r\n\r\n', 'reset')),
    plain('a status of 600', () => rawBytes('HTTP/1.1 600 No\r\ncontent-length: 0\r\n\r\n', 'reset'), [
      badGateway,
      600,
    ]),
    plain('bytes that are not HTTP', () => rawBytes('\0\0\0\0nothing\r\n\r\n', 'reset')),
    plain('two lengths', () =>
      rawBytes('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}', 'reset'),
    ),
    plain('headers of 1 MiB', () =>
      rawBytes(`HTTP/1.1 200 OK\r\na: ${'a'.repeat(mebibyte)}\r\n\r\n`, 'reset'),
    ),
    plain('headers without an end', () =>
      rawBytes('HTTP/1.1 200 OK\r\na: '.padEnd(200_000, 'b\r\nb: '), 'reset'),
    ),
    plain('gzip that nobody asked for', () =>
      whole(repeated('\x1f\x8b', 100), { headers: { ...jsonType, 'content-encoding': 'gzip' } }),
    ),
    plain('a reset at once', () => resetAtOnce),
    plain('a reset within the body', () => resetAt(20, JSON.stringify(good))),
    plain(
      'usage that is negative',
      () => json({ ...good, usage: { prompt_tokens: -1, completion_tokens: -5 } }),
      [200],
    ),
    plain(
      'usage beyond all numbers',
      () => json({ ...good, usage: { prompt_tokens: 1e308, completion_tokens: 1e308 } }),
      [200],
    ),
    streamed('events without an end', endlessEvents, 4 * mebibyte),
    streamed(
      '100 MB without a limit',
      () =>
        pieces(
          Array.from({ length: 1_000 }, () => event(choice('w '.repeat(20))).repeat(1_000)),
          { headers: eventStream },
        ),
      4 * mebibyte,
    ),
    streamed('a line without an end', () => endless('data: '.padEnd(60_000, 'x'), eventStream), mebibyte),
    streamed('comments without an end', () => endless(': x\n'.repeat(10_000), eventStream), mebibyte),
    streamed('empty events without an end', () => endless('data:\n\n'.repeat(10_000), eventStream), mebibyte),
    streamed('an event of 16 MiB', () => events([choice('x'.repeat(16 * mebibyte))]), 16 * mebibyte),
    streamed(
      'events of `choices:[{},…]`',
      () => eventText([`data: {"choices":[${'{},'.repeat(80_000)}{}]}\n\n`]),
      mebibyte,
    ),
    streamed('an event nested ten thousand levels', () =>
      eventText([`data: {"choices":${'['.repeat(1e4)}${']'.repeat(1e4)}}\n\n`]),
    ),
    streamed('no event', () => events([], { done: false })),
    streamed('only [DONE]', () => events([])),
    streamed('an error within', () =>
      events([choice('a'), { error: { message: 'upstream words', code: upstreamKey } }]),
    ),
    streamed('a reset within', () => events([choice('a')], { done: false, ending: 'reset' })),
    streamed('no JSON', () => eventText(['data: {"choices":[\n\n'])),
    { name: 'its key in an error reaches neither log nor client', by: 'customer', play: keepsTheKey },
    { name: 'a redirect is not followed', by: 'customer', play: followsNothing },
  ],
};

async function keepsTheKey(target: Target): Promise<void> {
  const { apiKey } = target.server;
  const error = {
    message: `bad key ${upstreamKey}`,
    type: upstreamKey,
    param: upstreamKey,
    code: upstreamKey,
  };
  const answered = await ask(
    target,
    json({ error }, { status: 400, headers: { 'x-key': upstreamKey } }),
    false,
  );
  assert.ok(!answered.body.includes(upstreamKey), 'the key is in the answer');
  for (const key of [upstreamKey, apiKey]) assert.ok(!target.server.log.includes(key), 'a key is in the log');
}

async function followsNothing(target: Target): Promise<void> {
  let connections = 0;
  const inside = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve));
  const { port } = inside.address() as AddressInfo;
  try {
    expectStatus(await ask(target, redirect(`http://127.0.0.1:${port}/secret`), false), badGateway, 307);
    assert.equal(connections, 0, 'the redirect was followed');
  } finally {
    inside.close();
  }
}
