/** Requests that are small by each count alone, but whose work is the product of two numbers. */
import assert from 'node:assert/strict';
import type { Attack, AttackClass } from '../attack.ts';
import { expectStatus, until } from '../harness/expected.ts';
import { restChatPath } from '../harness/messages.ts';
import type { AbusedServer } from '../harness/server.ts';
import type { Target } from '../harness/target.ts';

const choices = 128;
const many = 90_000;
const membersMax = 10_000;
const hello = [{ role: 'user', content: 'Hello.' }];
const listed = <T>(length: number, make: (at: number) => T) => Array.from({ length }, (_, at) => make(at));

function post(
  name: string,
  path: string,
  body: () => string,
  statuses: readonly number[],
  options: { readonly requests?: number; readonly keyOf?: (server: AbusedServer) => Promise<string> } = {},
): Attack {
  const { requests = 1, keyOf = async ({ apiKey }) => apiKey } = options;
  return {
    name,
    by: 'customer',
    connections: requests,
    bytes: body().length,
    async play(target: Target) {
      const sent = { path, body: body(), key: await keyOf(target.server) };
      const answers = await Promise.all(listed(requests, () => target.send(sent)));
      for (const answer of answers) expectStatus(answer, ...statuses);
    },
  };
}

const chat = (more: object) => () => JSON.stringify({ model: 'eliza', messages: hello, ...more });
const membersOf = (length: number, name = 'member') =>
  Object.fromEntries(listed(length, (at) => [`${name}${at}`, 0]));
const largestObject = chat(membersOf(membersMax - 2));
const largestObjects = chat({
  messages: listed(9, (at) => ({ ...hello[0], ...membersOf(membersMax - 2, `m${at}n`) })),
});
const longWord = [{ role: 'user', content: `I need ${'x'.repeat(985)}` }];

/** Runs a function once for each server. */
function oncePerServer<T>(make: (server: AbusedServer) => Promise<T>): (server: AbusedServer) => Promise<T> {
  const made = new WeakMap<AbusedServer, Promise<T>>();
  return (server) => {
    const known = made.get(server) ?? make(server);
    made.set(server, known);
    return known;
  };
}

const patterns = [...listed(99, (at) => `a*a*a*b${at}`), 'a*'];
/** The right to make keys, within patterns that match slowly if they are tried one after the other. */
const managersKey = oncePerServer(async (server) => {
  const facts = { name: 'manager', scopes: ['manage'], limits: { models: patterns } };
  return String((await server.admin('/accounts/attacker/keys', facts))['secret']);
});
const poorKey = oncePerServer((server) => server.openAccount('poor', '0.000001'));

/** Waits only for the first bytes. */
async function beginsToSpeak(target: Target, input: string): Promise<void> {
  const client = await target.http1();
  const body = Buffer.from(JSON.stringify({ model: 'flite', input }));
  const head = [
    'POST /api/v1/audio/speech HTTP/1.1',
    'host: parley',
    `authorization: Bearer ${target.server.apiKey}`,
    `content-length: ${body.length}`,
  ];
  await client.write(`${head.join('\r\n')}\r\n\r\n`);
  await client.write(body);
  await until('speech begins', () => client.received.includes('\r\n\r\n'));
  assert.match(client.received, /^HTTP\/1\.1 200 /);
}

export const products: AttackClass = {
  title: 'Work that is a product of two numbers',
  attacks: [
    post(
      `40 chats at once, each with ${choices} choices that end within a long word`,
      restChatPath,
      chat({ n: choices, max_tokens: 8, messages: longWord }),
      [200, 429, 503],
      { requests: 40 },
    ),
    post(
      `${choices} choices with 90,000 stop sequences`,
      restChatPath,
      chat({ n: choices, stop: listed(many, (at) => `s${at}`) }),
      [400],
    ),
    post('an object of 90,000 members', restChatPath, chat(membersOf(many)), [400]),
    post('unknown members, as many as one object takes', restChatPath, largestObject, [200]),
    post('the same without the credits', restChatPath, largestObject, [402], { keyOf: poorKey }),
    post('nine messages with as many members', restChatPath, largestObjects, [200]),
    post('the same without the credits', restChatPath, largestObjects, [402], { keyOf: poorKey }),
    {
      name: 'eight speeches at once of 4,000 characters with names of 28 letters',
      by: 'customer',
      connections: 8,
      bytes: 12_000,
      async play(target) {
        await Promise.all(listed(8, () => beginsToSpeak(target, '\ufdfd'.repeat(4_000))));
      },
    },
    post(
      'a key of 100 models within 100 patterns',
      '/api/v1/keys',
      () =>
        JSON.stringify({
          name: 'k',
          scopes: ['manage'],
          limits: { models: listed(100, (at) => `${'a'.repeat(196)}${at === 99 ? 'b' : 'x'}${at}`) },
        }),
      [200, 400],
      { keyOf: managersKey },
    ),
  ],
};
