import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import Sqlite from 'better-sqlite3';
import type { Attack, AttackClass } from '../attack.ts';
import { expectStatus } from '../harness/expected.ts';
import { restChatPath } from '../harness/messages.ts';
import { AbusedServer } from '../harness/server.ts';
import { Target } from '../harness/target.ts';

const hourMs = 3_600_000;
const refused = 503;
const body = JSON.stringify({
  model: 'eliza',
  messages: [{ role: 'user', content: 'Hello.' }],
  max_tokens: 5,
});
const chat = (target: Target, key = target.server.apiKey) => target.send({ path: restChatPath, body, key });
const isReady = async (target: Target) =>
  (await target.send({ method: 'GET', path: '/readyz' })).status === 200;

/** Faults of the machine that affect the store, on a separate server. */
function misfortune(name: string, happen: (target: Target) => Promise<void>, limits: object = {}): Attack {
  return {
    name,
    by: 'customer',
    isApart: true,
    async play() {
      const server = await AbusedServer.start(limits);
      const target = new Target(server);
      try {
        await happen(target);
        assert.equal(server.exit, undefined, 'the process ended');
      } finally {
        target.release();
        await server.stop();
      }
    },
  };
}

/** The system refuses every write of the process to a file. */
async function fullDisk(target: Target): Promise<void> {
  const { pid } = target.server;
  expectStatus(await chat(target), 200);
  const limit = (size: string) => execFileSync('prlimit', ['--pid', `${pid}`, `--fsize=${size}:`]);
  limit('0');
  const answered = await chat(target);
  expectStatus(answered, refused);
  assert.equal(JSON.parse(`${answered.body}`).error.code, 'overloaded');
  assert.ok(answered.headers['retry-after'] !== undefined, 'no Retry-After');
  assert.equal(await isReady(target), false, 'ready while nothing can be written');
  limit('unlimited');
  expectStatus(await chatUntilServed(target), 200);
  assert.equal(await isReady(target), true, 'not ready although writes succeed');
}

/** For a moment the server may answer that clients should wait. */
async function chatUntilServed(target: Target) {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const answered = await chat(target);
    if (answered.status === 200 || Date.now() > deadline) return answered;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function removedFolder(target: Target): Promise<void> {
  const { dataDir } = target.server;
  expectStatus(await chat(target), 200);
  renameSync(dataDir, `${dataDir}.gone`);
  expectStatus(await chat(target), refused);
  assert.equal(await isReady(target), false, 'ready while the folder is gone');
}

async function clockSetBack(target: Target): Promise<void> {
  const { server } = target;
  const key = await server.openAccount('revoked');
  const { keys } = await server.admin('/accounts/revoked/keys');
  const [{ id }] = keys as [{ id: string }];
  await server.admin(`/keys/${id}/revoke`, {});
  expectStatus(await chat(target, key), 401);
  await server.ask({ ask: 'shift', clockMs: -hourMs });
  expectStatus(await chat(target, key), 401);
}

/** @param remove what to remove from the data folder while the server runs */
function secondServer(remove: readonly string[]) {
  return async ({ server }: Target) => {
    for (const name of remove) {
      if (existsSync(join(server.dataDir, name))) rmSync(join(server.dataDir, name));
    }
    const second = server.program();
    const [said] = await Promise.race([
      Promise.all([second.stderr ? text(second.stderr) : '', once(second, 'exit')]),
      once(second.stderr ?? second, 'data').then(([bytes]) => [`${bytes}`] as const),
    ]);
    second.kill();
    assert.match(said, /in use|locked|another/i, `a second server started: ${said.slice(0, 300)}`);
  };
}

const keptBytesMax = 16 * 1_048_576;
const speechPath = '/api/v1/audio/speech';

/** Each answer is kept for a day under its own key. All together are twice the limit of an account. */
async function keptAnswers(target: Target): Promise<void> {
  const input = 'The ferry leaves at nine, and comes back at noon. '.repeat(30);
  const speech = JSON.stringify({ model: 'flite', input, response_format: 'wav' });
  let [keptBytes, answerBytes] = [0, 0];
  for (let number = 0; keptBytes < 2 * keptBytesMax; number++) {
    const headers = { 'idempotency-key': `speech ${number}` };
    const { apiKey: key } = target.server;
    const answered = await target.send({ path: speechPath, body: speech, headers, key });
    expectStatus(answered, 200);
    answerBytes = answered.body.length;
    keptBytes += answerBytes;
  }
  const database = new Sqlite(join(target.server.dataDir, 'parley.db'), { readonly: true });
  const stored = database.prepare<[], number>('select sum(length(answer)) from kept_answers').pluck();
  try {
    // Each request first makes room by removing answers of earlier ones.
    const [bytes = 0, bytesMax] = [stored.get(), keptBytesMax + answerBytes];
    assert.ok(bytes > 0 && bytes <= bytesMax, `${bytes} bytes are kept, at most ${bytesMax} should be`);
  } finally {
    database.close();
  }
}

export const storeTroubles: AttackClass = {
  title: 'The store',
  attacks: [
    misfortune('a full disk', fullDisk),
    misfortune('a data folder that is moved away', removedFolder),
    misfortune('a clock set back an hour', clockSetBack),
    misfortune('answers kept under many idempotency keys', keptAnswers, {
      keptAnswerBytesPerAccountMax: keptBytesMax,
    }),
    misfortune('a second server on the folder', secondServer([])),
    misfortune(
      'a second server after `lock.db` was removed',
      secondServer(['lock.db', 'lock.db-wal', 'lock.db-shm', 'lock.db-journal']),
    ),
  ],
};
