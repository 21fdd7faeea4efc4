import assert from 'node:assert/strict';
import type { Attack, AttackClass } from '../attack.ts';
import { exchange, expectError, type Http1Answer } from '../harness/http1-exchange.ts';
import { mebibyte, restChatPath } from '../harness/messages.ts';
import type { Target } from '../harness/target.ts';
import { framingCases } from './http1-framing.ts';

const models = '/api/v1/models';
const nothing = 'content-length: 0\r\n\r\n';

/** An edge case of the protocol, on its own connection. `{key}` in its bytes stands for the attacker's key. */
function edge(
  name: string,
  bytes: string | ((target: Target) => string),
  check: (answers: Http1Answer[]) => void,
): Attack {
  return {
    name,
    by: 'stranger',
    connections: 8,
    async play(target) {
      const text = typeof bytes === 'string' ? bytes : bytes(target);
      const sent = Buffer.from(text.replaceAll('{key}', target.server.apiKey), 'latin1');
      const all = await Promise.all(Array.from({ length: 8 }, () => exchange(target, sent)));
      for (const answers of all) check(answers);
    },
  };
}

const oneError = (answers: Http1Answer[]) => {
  assert.equal(answers.length, 1, `${answers.length} answers`);
  for (const answer of answers) expectError(answer);
};
const statuses =
  (...expected: number[]) =>
  (answers: Http1Answer[]) =>
    assert.deepEqual(
      answers.map(({ status }) => status),
      expected,
    );

const withKey = 'host: parley\r\nauthorization: Bearer {key}\r\n';

/** Waits until the whole of a large refused body is on its way. */
const refusedBody = (head: string) =>
  `POST ${restChatPath} HTTP/1.1\r\nhost: parley\r\n${head}content-length: ${4 * mebibyte}\r\n\r\n${'x'.repeat(4 * mebibyte)}`;

export const http1: AttackClass = {
  title: 'HTTP/1',
  attacks: [
    edge('no Host', `GET ${models} HTTP/1.1\r\n\r\n`, oneError),
    edge('two Hosts', `GET ${models} HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n`, oneError),
    edge('Expect: foo', `POST ${restChatPath} HTTP/1.1\r\nhost: a\r\nexpect: foo\r\n${nothing}`, oneError),
    edge('CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nhost: example.com\r\n\r\n', oneError),
    edge('a request line of HTTP/2.0', `GET ${models} HTTP/2.0\r\nhost: a\r\n\r\n`, oneError),
    edge(
      'an upgrade',
      `GET ${models} HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`,
      oneError,
    ),
    edge(
      'a second request after Connection: close',
      `GET ${models} HTTP/1.1\r\n${withKey}connection: close\r\n\r\nGET ${models} HTTP/1.1\r\n${withKey}\r\n`,
      statuses(200),
    ),
    edge(
      'nonsense behind a request',
      `GET ${models} HTTP/1.1\r\n${withKey}\r\n\0\0\0\r\n\r\n`,
      statuses(200, 400),
    ),
    edge('a refused body of 4 MiB', refusedBody(''), (answers) => assert.equal(answers[0]?.status, 401)),
    edge(
      'a refused body of 4 MiB with Connection: close',
      refusedBody('connection: close\r\n'),
      statuses(401),
    ),
    edge('a path of 15 KB', `GET /${'a'.repeat(15_000)} HTTP/1.1\r\nhost: a\r\n\r\n`, oneError),
    edge('headers of 20 KB', `GET / HTTP/1.1\r\nhost: a\r\na: ${'a'.repeat(20_000)}\r\n\r\n`, oneError),
    edge('200 headers', `GET / HTTP/1.1\r\nhost: a\r\n${'a: b\r\n'.repeat(200)}\r\n`, oneError),
    {
      name: `${framingCases.length} cases of framing and smuggling`,
      by: 'stranger',
      connections: framingCases.length,
      play: playFraming,
    },
  ],
};

/** The hidden request of a case must never be answered. Only its answer would have the status 200. */
async function playFraming(target: Target): Promise<void> {
  const play = async ([name, bytes]: (typeof framingCases)[number]) => {
    const answers = await exchange(target, bytes.replaceAll('{key}', target.server.apiKey));
    const shown = `${name}: ${answers.map(({ status }) => status).join()}`;
    assert.ok(!answers.some(({ status }) => status === 200), `${shown}: the hidden request was served`);
    for (const answer of answers.filter(({ status }) => status !== 100)) {
      try {
        expectError(answer);
      } catch (cause) {
        throw new Error(`${shown}: ${cause}`, { cause });
      }
    }
  };
  const settled = await Promise.allSettled(framingCases.map(play));
  const faults = settled.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []));
  assert.deepEqual(faults, []);
}
