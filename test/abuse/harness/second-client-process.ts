/**
 * The process of `second-client.ts`. Each of its requests opens a connection of its own. The time in which it or the server waits
 * for a core does not count, as other programs on the machine cause it.
 */
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitForCore } from './wait-for-core.ts';

export interface Served {
  readonly requests: number;
  readonly worstMs: number;
  /** Why requests failed. */
  readonly failures: readonly string[];
}

const everyMs = 20;
const answerMsMax = 60_000;
const [, , baseUrl = '', key = '', serverPid = ''] = process.argv;
const ownWait = waitForCore(process.pid);
const serverWait = waitForCore(Number(serverPid));
const countedMs = () => performance.now() - ownWait() - serverWait();

const chat = JSON.stringify({
  model: 'eliza',
  messages: [{ role: 'user', content: 'Hello.' }],
  max_tokens: 20,
});

function ask(path: string, body?: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${key}` };
    const method = body === undefined ? 'GET' : 'POST';
    const options = { agent: false, headers, method, signal: AbortSignal.timeout(answerMsMax) };
    const asked = request(baseUrl + path, options, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode === 200 ? undefined : `${response.statusCode}`));
      response.once('error', (error) => resolve(error.message));
    });
    asked.once('error', (error) => resolve(error.message));
    asked.end(body);
  });
}

let running: Promise<Served> | undefined;
let isEnding = false;

async function askInTurn(): Promise<Served> {
  const failures: string[] = [];
  let [requests, worstMs] = [0, 0];
  while (!isEnding || requests < 2) {
    const startedAt = countedMs();
    const path = requests % 2 === 0 ? '/models' : '/chat/completions';
    const failure = await (requests % 2 === 0 ? ask(path) : ask(path, chat));
    worstMs = Math.max(worstMs, countedMs() - startedAt);
    if (failure !== undefined) failures.push(`${path}: ${failure}`);
    requests++;
    if (!isEnding) await sleep(everyMs);
  }
  return { requests, worstMs, failures };
}

process.on('message', async (order) => {
  if (order === 'begin') {
    isEnding = false;
    running = askInTurn();
  } else {
    isEnding = true;
    process.send?.(await running);
  }
});
process.once('disconnect', () => process.exit(0));
process.send?.('ready');
