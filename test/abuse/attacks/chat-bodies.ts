import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { cpuMsOf } from '../../../bench/harness/processes.ts';
import { completion } from '../../support/chat-answers.ts';
import { json } from '../../support/upstream-answers.ts';
import type { Attack, AttackClass } from '../attack.ts';
import { expectStatus } from '../harness/expected.ts';
import { chatPath, enveloped, field, restChatPath } from '../harness/messages.ts';
import type { Sent, Target } from '../harness/target.ts';
import { emptyMessages, emptyObjects } from './bodies-without-key.ts';

const model = field(1, Buffer.from('eliza'));
const message = '{"role":"user","content":"Hello."},';
const refused = [400, 402, 413];
const invalidArgument = [3, 8];
const largest = 20_900_000;
const proto = { 'content-type': 'application/proto', 'content-encoding': 'gzip' };

function customer(
  name: string,
  sent: () => Sent,
  statuses: readonly number[],
  wire: 'send' | 'grpc' = 'send',
): Attack {
  return {
    name,
    by: 'customer',
    bytes: largest,
    async play(target) {
      expectStatus(await target[wire]({ ...sent(), key: target.server.apiKey }), ...statuses);
    },
  };
}

const rest = (name: string, body: () => string, statuses: readonly number[] = refused) =>
  customer(`REST: ${name}`, () => ({ path: restChatPath, body: body() }), statuses);
const quickly = { params: { [constants.BROTLI_PARAM_QUALITY]: 2 } };
const packed = (name: string, encoding: string, body: () => Uint8Array, statuses: readonly number[]) =>
  customer(
    `REST: ${name}`,
    () => ({ path: restChatPath, headers: { 'content-encoding': encoding }, body: body() }),
    statuses,
  );
const chat = (rest: string) => `{"model":"eliza",${rest}}`;
const content = (text: string) => chat(`"messages":[{"role":"user","content":"${text}"}]`);

const forUpstream = (name: string, text: string): Attack => ({
  name: `REST: ${name} for an upstream`,
  by: 'customer',
  bytes: largest,
  async play(target) {
    target.server.upstream.answer('/chat/completions', json(completion()));
    const body = content(text).replace('eliza', 'served');
    expectStatus(await target.send({ path: restChatPath, body, key: target.server.apiKey }), 200);
  },
});

export const chatBodies: AttackClass = {
  title: 'Chat bodies of 20 MB with a key',
  attacks: [
    rest('messages of `[{},…]`', emptyObjects),
    rest('messages of `[0,0,…]`', () => chat(`"messages":[${'0,'.repeat(largest / 2 - 50)}0]`)),
    rest('500,000 valid messages', () =>
      chat(`"messages":[${message.repeat(500_000)}${message.slice(0, -1)}]`),
    ),
    rest('nested ten million levels', () =>
      chat(`"messages":${'['.repeat(largest / 2 - 50)}${']'.repeat(largest / 2 - 50)}`),
    ),
    rest('one string', () => content('a'.repeat(largest - 100))),
    rest('one string of emoji', () => content('😀'.repeat(largest / 4 - 100))),
    rest('one string of spaces', () => content(' '.repeat(largest - 100))),
    rest('a million members', () =>
      chat(`${Array.from({ length: 1_000_000 }, (_, index) => `"m${index}":0,`).join('')}"messages":[]`),
    ),
    rest('digits of one number', () => chat(`"messages":[],"max_tokens":${'9'.repeat(largest - 100)}`)),
    rest('escapes', () => content('\\u0041'.repeat(3_000_000))),
    rest('a string without an end', () => `{"model":"${'a'.repeat(largest - 100)}`),
    packed('gzip of 18 MB of `{},`', 'gzip', () => gzipSync(emptyObjects()), [400]),
    packed('gzip of 20 MB of spaces', 'gzip', () => gzipSync(' '.repeat(largest)), [400]),
    packed('Brotli of 20 MB of spaces', 'br', () => brotliCompressSync(' '.repeat(largest), quickly), [413]),
    customer(
      'Connect: gzip of 18 MB of `{},`',
      () => ({
        path: chatPath,
        headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
        body: gzipSync(`{"params":${emptyObjects()}}`),
      }),
      [400, 413, 429],
    ),
    customer(
      'Connect: gzip of ten million empty submessages',
      () => ({
        path: chatPath,
        headers: proto,
        body: gzipSync(field(1, Buffer.concat([model, emptyMessages()]))),
      }),
      [400, 413, 429],
    ),
    customer(
      'gRPC: gzip of ten million empty submessages',
      () => ({
        path: chatPath,
        headers: { 'grpc-encoding': 'gzip' },
        body: enveloped(emptyMessages(), { gzip: true }),
      }),
      invalidArgument,
      'grpc',
    ),
    forUpstream('20 MB of words', 'word '.repeat(largest / 5 - 100)),
    forUpstream('20 MB of lone surrogates', '\\ud83d'.repeat(largest / 6 - 100)),
    {
      name: 'REST: counting tokens ends with its client',
      by: 'customer',
      bytes: largest,
      play: countsNoTokensFor,
    },
  ],
};

const countedMs = 2_000;

/** A client that leaves during a long count. */
async function countsNoTokensFor(target: Target): Promise<void> {
  const client = await target.http1();
  const words = Array.from({ length: 400_000 }, (_, index) => `w${index * 7919} `).join('');
  const body = content(words).replace('eliza', 'served');
  const head = [
    `POST ${restChatPath} HTTP/1.1`,
    'host: parley',
    `authorization: Bearer ${target.server.apiKey}`,
    `content-length: ${body.length}`,
  ];
  await client.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  await sleep(50);
  client.close();
  await sleep(500);
  const before = cpuMsOf(target.server.pid);
  await sleep(countedMs);
  const spentMs = cpuMsOf(target.server.pid) - before;
  assert.ok(spentMs < countedMs / 4, `${spentMs} ms of processor time after its client had left`);
}
