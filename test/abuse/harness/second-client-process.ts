/**
 * The process of `second-client.ts`. Each request opens its own connection. The time in which client or server waits
 * for a core is excluded, as other programs on the machine cause it.
 */
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitForCore } from './wait-for-core.ts';

/** `light` alternates between a model list and a short chat; `mixed` sends every kind of request, from a few clients at once. */
export type Load = 'light' | 'mixed';
export type Order = { readonly begin: Load } | 'end';

export interface Served {
  /** The ids of the requests that were served. */
  readonly ids: readonly string[];
  readonly worstMs: number;
  /** The reasons why requests failed. */
  readonly failures: readonly string[];
}

const everyMs = 20;
const mixedClients = 3;
const timesMin = 2;
const answerMsMax = 60_000;
const [, , baseUrl = '', key = '', serverPid = ''] = process.argv;
const ownWait = waitForCore(process.pid);
const serverWait = waitForCore(Number(serverPid));
const countedMs = () => performance.now() - ownWait() - serverWait();

interface Errand {
  readonly path: string;
  readonly body?: string | Buffer;
  readonly type?: string;
}

const talk = { model: 'eliza', messages: [{ role: 'user', content: 'Hello.' }], max_tokens: 20 };
const models: Errand = { path: '/models' };
const chat: Errand = { path: '/chat/completions', body: JSON.stringify(talk) };
const streamed: Errand = { path: '/chat/completions', body: JSON.stringify({ ...talk, stream: true }) };
const speech: Errand = {
  path: '/audio/speech',
  body: JSON.stringify({ model: 'flite', input: 'Hello there.' }),
};
const recording: Errand = {
  path: '/audio/transcriptions',
  type: 'multipart/form-data; boundary=b',
  body: form(),
};
const errands: Readonly<Record<Load, readonly Errand[]>> = {
  light: [models, chat],
  mixed: [models, chat, streamed, speech, chat, streamed, recording],
};

/** A tenth of a second of silence as a WAV file. */
function form(): Buffer {
  const head = '52494646a40c000057415645666d74201000000001000100803e0000007d00000200100064617461800c0000';
  const part = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n';
  return Buffer.concat([
    Buffer.from(part),
    Buffer.from(head, 'hex'),
    Buffer.alloc(3200),
    Buffer.from('\r\n--b--\r\n'),
  ]);
}

/** Resolves with the id of the request. */
function run({ path, body, type = 'application/json' }: Errand): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': type };
    const method = body === undefined ? 'GET' : 'POST';
    const options = { agent: false, headers, method, signal: AbortSignal.timeout(answerMsMax) };
    const asked = request(baseUrl + path, options, async (response) => {
      try {
        const answer = Buffer.concat(await response.toArray());
        if (response.statusCode === 200 && answer.length > 0) resolve(`${response.headers['x-request-id']}`);
        else reject(new Error(`${response.statusCode}: ${answer.toString('utf8', 0, 200)}`));
      } catch (error) {
        reject(error);
      }
    });
    asked.once('error', reject);
    asked.end(body);
  });
}

let isEnding = false;

async function runInTurn(load: Load): Promise<Served> {
  const failures: string[] = [];
  const ids: string[] = [];
  let worstMs = 0;
  const all = errands[load];
  for (let turn = 0; !isEnding || turn < timesMin; turn++) {
    const startedAt = countedMs();
    const errand = all[turn % all.length] ?? models;
    try {
      ids.push(await run(errand));
    } catch (error) {
      failures.push(`${errand.path}: ${error}`);
    }
    worstMs = Math.max(worstMs, countedMs() - startedAt);
    if (!isEnding) await sleep(everyMs);
  }
  return { ids, worstMs, failures };
}

async function runAll(load: Load): Promise<Served> {
  const clients = load === 'light' ? 1 : mixedClients;
  const all = await Promise.all(Array.from({ length: clients }, () => runInTurn(load)));
  return {
    ids: all.flatMap(({ ids }) => ids),
    worstMs: Math.max(...all.map(({ worstMs }) => worstMs)),
    failures: all.flatMap(({ failures }) => failures),
  };
}

let running: Promise<Served> | undefined;

process.on('message', async (order: Order) => {
  isEnding = order === 'end';
  if (order !== 'end') running = runAll(order.begin);
  else process.send?.(await running);
});
process.once('disconnect', () => process.exit(0));
process.send?.('ready');
