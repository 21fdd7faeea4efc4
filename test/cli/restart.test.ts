/** A restart with a socket that another program holds, as `deploy/parley.socket` does: no client may notice it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { create, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import * as grpc from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import { passedSockets } from '../../src/cli/commands/serve/service-manager.ts';
import { ended, type Folder, scratchFolder, until } from '../support/command-line.ts';
import { holdSocket, type SocketHolder } from '../support/socket-holder.ts';

const restarts = 3;
/** Answers to each client between two restarts. */
const answersMin = 20;
/** Mostly longer than the time between two requests of a client on a kept connection. */
const unreadyMs = '500';

const question = { model: 'eliza', stream: true, messages: [{ role: 'user', content: 'I miss the sea.' }] };

/** Sends one request after the other. */
class Client {
  answers = 0;
  readonly failures: string[] = [];
  readonly ended: Promise<void>;
  #isStopped = false;

  constructor(name: string, ask: () => Promise<unknown>) {
    this.ended = this.#work(name, ask);
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    return this.ended;
  }

  async #work(name: string, ask: () => Promise<unknown>): Promise<void> {
    while (!this.#isStopped) {
      try {
        await ask();
        this.answers += 1;
      } catch (error) {
        this.failures.push(`${name}: ${error}`);
      }
    }
  }
}

/**
 * A streamed chat over HTTP/1.1. Like SDKs, it repeats a request that crossed the end of a connection, which was idle for longer than the
 * server waits: on a busy machine a client can be that slow.
 *
 * @param agent false for a separate connection
 */
function askOverHttp1(origin: string, key: string, agent: Agent | false): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const call = request(
      `${origin}/api/v1/chat/completions`,
      { method: 'POST', headers, agent },
      (answer) => {
        text(answer).then((body) => {
          if (answer.statusCode === 200 && body.endsWith('data: [DONE]\n\n')) resolve();
          else if (answer.statusCode === 408 && agent) resolve(askOverHttp1(origin, key, agent));
          else reject(new Error(`${answer.statusCode} ${body}`));
        }, reject);
      },
    );
    call.once('error', reject).end(JSON.stringify(question));
  });
}

/** A streamed chat by grpc-js. Like all gRPC libraries, it repeats a call that a closing connection did not accept. */
function askOverGrpc(client: grpc.Client, key: string): Promise<void> {
  const { input, output } = ChatService.method.streamChatCompletion;
  const content = { value: { case: 'text' as const, value: 'I miss the sea.' } };
  const params = { model: 'eliza', messages: [{ role: 'user', content }] };
  const metadata = new grpc.Metadata();
  metadata.set('authorization', `Bearer ${key}`);
  const answer = client.makeServerStreamRequest(
    `/${ChatService.typeName}/StreamChatCompletion`,
    (message: MessageShape<typeof input>) => Buffer.from(toBinary(input, message)),
    (bytes) => fromBinary(output, bytes),
    create(input, { params }),
    metadata,
  );
  let reason: string | undefined;
  return new Promise((resolve, reject) => {
    answer.on('data', ({ chunk }: MessageShape<typeof output>) => {
      reason = chunk?.choices[0]?.finishReason ?? reason;
    });
    answer.once('error', reject);
    answer.once('end', () => (reason === 'stop' ? resolve() : reject(new Error(`ended with ${reason}`))));
  });
}

describe('a restart with an inherited socket', () => {
  let folder: Folder;
  let holder: SocketHolder;
  let stderr = '';
  const dataDir = () => folder.file('data');
  const starts = () => stderr.split('listening on http').length - 1;
  const serverPid = (): number => JSON.parse(readFileSync(`${dataDir()}/server.json`, 'utf8')).pid;

  beforeEach(async () => {
    folder = scratchFolder();
    const env = { PARLEY_SERVER_UNREADY_MS: unreadyMs };
    const args = ['serve', '--demo', '--port', '1', '--data-dir', dataDir()];
    holder = await holdSocket(args, folder.file('done'), { cwd: folder.path, env });
    stderr = '';
    holder.process.stderr?.on('data', (chunk: Buffer) => {
      stderr += chunk;
    });
    holder.process.stdout?.resume();
    await until(() => starts() === 1);
  });
  afterEach(async () => {
    writeFileSync(folder.file('done'), '');
    process.kill(serverPid(), 'SIGTERM');
    await ended(holder.process);
    folder.remove();
  });

  it('refuses no connection and fails no request under steady load', async () => {
    const origin = `http://127.0.0.1:${holder.port}`;
    const firstRun = JSON.parse(readFileSync(`${dataDir()}/first-run.json`, 'utf8'));
    expect(firstRun.baseUrl).toBe(`${origin}/api/v1`);
    const { apiKey } = firstRun;
    const agent = new Agent({ keepAlive: true });
    const channel = new grpc.Client(`127.0.0.1:${holder.port}`, grpc.credentials.createInsecure());
    const clients = [
      ...Array.from(
        { length: 4 },
        () => new Client('new connection', () => askOverHttp1(origin, apiKey, false)),
      ),
      ...Array.from(
        { length: 4 },
        () => new Client('kept connection', () => askOverHttp1(origin, apiKey, agent)),
      ),
      ...Array.from({ length: 2 }, () => new Client('gRPC', () => askOverGrpc(channel, apiKey))),
    ];
    const pids = new Set([serverPid()]);
    for (let restart = 1; restart <= restarts; restart++) {
      const before = clients.map(({ answers }) => answers);
      await until(() => clients.every(({ answers }, index) => answers >= (before[index] ?? 0) + answersMin));
      process.kill(serverPid(), 'SIGTERM');
      await until(() => starts() === restart + 1);
      pids.add(serverPid());
    }
    await Promise.all(clients.map((client) => client.stop()));
    agent.destroy();
    channel.close();
    expect(clients.flatMap(({ failures }) => failures)).toEqual([]);
    expect(pids.size).toBe(restarts + 1);
  });
});

describe('the sockets that systemd passes', () => {
  const passed = (env: Readonly<Record<string, string>>, hasAdminPort = true) =>
    passedSockets({ LISTEN_PID: String(process.pid), ...env }, hasAdminPort);

  it('are known by their names, in any order', () => {
    expect(passed({ LISTEN_FDS: '1', LISTEN_FDNAMES: 'parley.socket' })).toEqual({ main: 3 });
    expect(passed({ LISTEN_FDS: '1' })).toEqual({ main: 3 });
    expect(passed({ LISTEN_FDS: '2', LISTEN_FDNAMES: 'admin:parley.socket' })).toEqual({ admin: 3, main: 4 });
  });

  it('are not for the children of the process that received them', () => {
    expect(passed({ LISTEN_FDS: '1', LISTEN_PID: '1' })).toEqual({});
    expect(passedSockets({}, false)).toEqual({});
  });

  it('are refused if the server would not serve them', () => {
    const three = { LISTEN_FDS: '3', LISTEN_FDNAMES: 'admin:parley.socket:parley.socket' };
    expect(() => passed(three)).toThrow('systemd passes 3 sockets. Parley takes one');
    const admin = { LISTEN_FDS: '1', LISTEN_FDNAMES: 'admin' };
    expect(() => passed(admin, false)).toThrow('Set admin.port, or remove that socket unit.');
  });
});
