/**
 * Three servers on one PostgreSQL and behind HAProxy, restarted one after the other under load: every client gets its
 * answer. Clients and HAProxy keep their connections and repeat nothing.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type Folder, type Serving, scratchFolder, until } from '../support/command-line.ts';
import { Nodes } from '../support/postgres/nodes.ts';
import { postgresPrograms } from '../support/postgres/programs.ts';
import { PostgresServer } from '../support/postgres/server.ts';
import { Random } from '../support/random.ts';

const haproxy = '/usr/sbin/haproxy';
const programs = postgresPrograms();
const lacking = [
  ...(existsSync(haproxy) ? [] : ['haproxy']),
  ...(programs === undefined ? ['postgresql'] : []),
].join(', ');
const reason = lacking === '' ? '' : ` (skipped: Debian packages that are not installed: ${lacking})`;

const checkMs = 200;
/** HAProxy must notice within this time, on a busy machine too. Running requests may take as long as they need. */
const env = { PARLEY_SERVER_UNREADY_MS: '3000', PARLEY_SERVER_DRAIN_MS: '300000' };
const clientsAtOnce = 12;
/** Answers between two restarts. */
const answersEach = 60;

const configOf = (port: number, ports: readonly string[]) => `
global
  log stdout format raw local0
defaults
  mode http
  log global
  option httplog
  timeout connect 120s
  timeout client 300s
  timeout server 300s
  timeout http-keep-alive 60s
frontend clients
  bind 127.0.0.1:${port}
  default_backend servers
backend servers
  option httpchk GET /readyz
  default-server check inter ${checkMs} fall 1 rise 1
${ports.map((one, index) => `  server n${index} 127.0.0.1:${one}`).join('\n')}
`;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address ? address.port : 0;
}

class Client {
  static readonly agent = new Agent({ keepAlive: true });
  answers = 0;
  readonly failures: string[] = [];

  async ask(port: number, key: string, stream: boolean): Promise<void> {
    const body = JSON.stringify({ model: 'eliza', stream, messages: [{ role: 'user', content: 'Why?' }] });
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const options = { port, path: '/api/v1/chat/completions', method: 'POST', headers, agent: Client.agent };
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const call = request(options, (answer) => {
      text(answer).then((received) => {
        const isWhole = answer.statusCode === 200 && (!stream || received.endsWith('data: [DONE]\n\n'));
        if (isWhole) resolve();
        else reject(new Error(`${answer.statusCode} ${received}`));
      }, reject);
    });
    call.once('error', reject).end(body);
    await promise.then(
      () => this.answers++,
      (error) => this.failures.push(String(error)),
    );
  }
}

describe.skipIf(lacking !== '')(`a rolling restart behind HAProxy${reason}`, () => {
  const opened: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of opened.splice(0).reverse()) await close();
  });

  it('fails no request', async () => {
    const nodes = await Nodes.create(await PostgresServer.create(programs ?? ''), new Random(1));
    opened.push(() => nodes.close());
    const ports = await Promise.all([freePort(), freePort(), freePort()]);
    const servings: Serving[] = [];
    opened.push(() => Promise.all(servings.map((one) => one.end())));
    const startAt = async (index: number) => {
      servings[index] = await nodes.serve(['--port', String(ports[index])], env);
    };
    for (const index of ports.keys()) await startAt(index);
    const folder = scratchFolder();
    opened.push(() => folder.remove());
    const port = await freePort();
    const { log } = startProxy(folder, configOf(port, ports.map(String)), opened);

    await until(() =>
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );

    const client = new Client();
    let isOn = true;
    const work = async (_: unknown, index: number) => {
      while (isOn) {
        await client.ask(port, nodes.keys.apiKey, index % 3 === 0);
        // Pauses leave connections idle while a server stops.
        await sleep(10 * (index % 4));
      }
    };
    const working = Promise.all(Array.from({ length: clientsAtOnce }, work));
    const answerMore = async () => {
      const before = client.answers;
      await until(() => client.failures.length > 0 || client.answers > before + answersEach);
    };
    await answerMore();
    for (const [index] of ports.entries()) {
      await servings[index]?.close();
      const before = log().length;
      await startAt(index);
      await until(() => log().includes(`servers/n${index} is UP`, before));
      await answerMore();
    }
    isOn = false;
    await working;
    Client.agent.destroy();
    expect(client.failures, log().slice(-4_000)).toEqual([]);
    await nodes.check(servings[0] as Serving);
  });
});

/** Starts HAProxy, which is closed with the rest. */
function startProxy(folder: Folder, config: string, opened: (() => unknown)[]) {
  writeFileSync(folder.file('haproxy.cfg'), config);
  const process: ChildProcess = spawn(haproxy, ['-db', '-f', folder.file('haproxy.cfg')]);
  let log = '';
  for (const stream of [process.stdout, process.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      log += chunk;
    });
  }
  opened.push(async () => {
    const ended = once(process, 'exit');
    if (process.exitCode === null && process.kill()) await ended;
  });
  return { log: () => log };
}
