/**
 * How HTTP/1 connections end between two requests: a client that sends a request at that moment gets its answer, or may
 * repeat it.
 */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, it } from 'vitest';
import { type Parley, startParley } from '../../support/parley.ts';

/** Node closes an idle connection this much after `keepAliveMs`. */
const bufferMs = 1_000;

let parley: Parley;
let isStopped: boolean;
afterEach(async () => {
  if (!isStopped) await parley.close();
});
const start = async (server: object = {}) => {
  isStopped = false;
  parley = await startParley({ settings: { server } });
};
const stop = () => {
  isStopped = true;
  return parley.close();
};

class Client {
  readonly socket: Socket;
  /** How it ended; undefined while it is open. */
  readonly closed: Promise<string>;
  received = '';

  constructor() {
    this.socket = connect(Number(new URL(parley.baseUrl).port), '127.0.0.1');
    let how = 'ended';
    this.socket.on('error', (error: NodeJS.ErrnoException) => {
      how = String(error.code);
    });
    this.socket.on('data', (chunk) => {
      this.received += chunk;
    });
    this.closed = once(this.socket, 'close').then(() => how);
  }

  ask(path = '/models'): void {
    const authorization = `authorization: Bearer ${parley.apiKey}`;
    this.socket.write(`GET /api/v1${path} HTTP/1.1\r\nhost: a\r\n${authorization}\r\n\r\n`);
  }

  /** Resolves in the turn in which the last part of an answer is read. */
  async answered(): Promise<void> {
    while (!/^\r\n.*\}$/ms.test(this.received)) await once(this.socket, 'data');
  }

  /** The status line of each answer. */
  get statuses(): string[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = '']) => status);
  }
}

/** Blocks the server, which is in this process. */
function stall(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

it('an idle connection says how long it stays, and ends with 408 and without a reset', async () => {
  await start({ keepAliveMs: 1_000 });
  const client = new Client();
  client.ask();
  await client.answered();
  expect(client.received).toMatch(/^keep-alive: timeout=1\r$/im);
  expect(await client.closed).toBe('ended');
  expect(client.statuses).toEqual(['200', '408']);
  expect(client.received).toMatch(/^connection: close\r$/im);
});

it('a request that is sent while its connection is closed gets the 408, and does not run', async () => {
  await start({ keepAliveMs: 1 });
  const client = new Client();
  client.ask();
  await client.answered();
  while (!client.received.includes(' 408 ')) await once(client.socket, 'data');
  client.ask('/account');
  expect(await client.closed).toBe('ended');
  expect(client.statuses).toEqual(['200', '408']);
  const { items } = await parley.app.store.usage.list({}, { size: 10, after: undefined });
  expect(items.map(({ operation }) => operation)).toEqual(['catalog']);
});

it('a connection is not idle once a request has arrived, even if the server reads it later', async () => {
  await start({ keepAliveMs: 1 });
  const client = new Client();
  client.ask();
  await client.answered();
  client.received = '';
  client.ask();
  stall(2 * bufferMs);
  await client.answered();
  expect(client.statuses).toEqual(['200']);
});

it.each(['on a kept connection', 'on a new connection'])(
  'a stopping server answers a request that has arrived %s before it stops',
  async (where) => {
    await start();
    const client = new Client();
    if (where === 'on a kept connection') {
      client.ask();
      await client.answered();
      client.received = '';
    }
    client.ask();
    const stopped = stop();
    stall(100);
    expect(await client.closed).toBe('ended');
    expect(client.statuses).toEqual(['200']);
    expect(client.received).toMatch(/^connection: close\r$/im);
    await stopped;
  },
);

it('a stopping server ends idle connections by their timeout', async () => {
  await start();
  const client = new Client();
  client.ask();
  await client.answered();
  await stop();
  expect(await client.closed).toBe('ended');
  expect(client.statuses).toEqual(['200', '408']);
});

it('clients that keep connections open another one after it', async () => {
  await start({ keepAliveMs: 1 });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { authorization: `Bearer ${parley.apiKey}` };
  const ask = () =>
    new Promise<number | undefined>((resolve, reject) => {
      const call = request(`${parley.baseUrl}/models`, { agent, headers }, (answer) => {
        void text(answer).then(() => resolve(answer.statusCode));
      });
      call.once('error', reject).end();
    });
  const kept = () => Object.values(agent.freeSockets).flat().length;
  for (let time = 0; time < 2; time++) {
    expect(await ask()).toBe(200);
    await expect.poll(kept).toBe(0);
  }
  agent.destroy();
});
