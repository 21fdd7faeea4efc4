import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RawClient } from '../../support/raw-http.ts';
import { closeCodeOf, upgradeRequest, webSocketFrame } from '../../support/raw-websocket.ts';
import type { AttackClass } from '../attack.ts';
import { until } from '../harness/expected.ts';
import { mebibyte } from '../harness/messages.ts';
import type { Target } from '../harness/target.ts';

const path = '/api/v1/realtime?intent=transcription';
const holdMs = 1_000;
const few = 8;
/** An account may have 500 sessions, an address 512 connections. */
const idle = 500;
const groupSize = 100;
const unknownEvent = webSocketFrame('text', '{"type":"unknown"}');

/** Opens a WebSocket, and waits for the first event. */
async function open(target: Target, headers = ''): Promise<RawClient> {
  const client = await target.http1();
  await client.write(upgradeRequest(path, target.server.apiKey, headers));
  await until('the session is open', () => client.received.includes('session.created') || client.isClosed);
  return client;
}

/** Opens them in groups, as the sessions are the attack, and not the burst of connections. */
async function openMany(target: Target, count: number): Promise<RawClient[]> {
  const clients: RawClient[] = [];
  while (clients.length < count) {
    const size = Math.min(groupSize, count - clients.length);
    clients.push(...(await Promise.all(Array.from({ length: size }, () => open(target)))));
  }
  return clients;
}

/** Sends bytes on a few connections, each of which must be closed with the code. */
function closedWith(code: number, bytes: Buffer, headers = '') {
  return async (target: Target) => {
    const play = async () => {
      const client = await open(target, headers);
      assert.ok(!client.received.includes('permessage-deflate'));
      await client.write(bytes);
      await until(`it is closed with ${code}`, () => client.isClosed || closeCodeOf(client) !== undefined);
      assert.equal(closeCodeOf(client), code);
    };
    await Promise.all(Array.from({ length: few }, play));
  };
}

/** Sends a handshake on a few connections, each of which must be answered with the status and an error. */
function refusedWith(status: number, handshake: (target: Target) => string) {
  return async (target: Target) => {
    const play = async () => {
      const client = await target.http1();
      await client.write(handshake(target));
      const answer = await client.answer();
      assert.equal(answer.status, status);
      assert.ok(JSON.parse(answer.body).error.code);
    };
    await Promise.all(Array.from({ length: few }, play));
  };
}

/** A message of 16 fragments, just below the limit, whose end never comes. */
function unfinished(): Buffer {
  const part = Buffer.alloc(mebibyte / 16 - 1, 'x');
  return Buffer.concat(
    Array.from({ length: 15 }, (_, at) =>
      webSocketFrame(at === 0 ? 'text' : 'continuation', part, { isLast: false }),
    ),
  );
}

/** Writes until the server reads no more, or has read all. */
async function flood(client: RawClient, bytes: Buffer, bytesMax: number): Promise<void> {
  for (let sent = 0; sent < bytesMax && !client.isClosed; sent += bytes.length) {
    const isTaken = await Promise.race([client.write(bytes), sleep(holdMs, false)]);
    if (!isTaken) return;
  }
}

/** @param isCut whether the server must close the connections, rather than stop to read them */
async function floodAll(target: Target, bytes: Buffer, isCut: boolean): Promise<void> {
  const clients = await openMany(target, few);
  if (!isCut) for (const { socket } of clients) socket.pause();
  await Promise.all(clients.map((client) => flood(client, bytes, 16 * mebibyte)));
  await sleep(holdMs);
  if (isCut) await until('a flood is cut', () => clients.every(({ isClosed }) => isClosed));
  else for (const client of clients) assert.ok(!client.isClosed);
}

export const live: AttackClass = {
  title: 'Live sessions over WebSocket',
  attacks: [
    {
      name: 'a message in 16,000 fragments of a byte',
      by: 'customer',
      connections: few,
      play: closedWith(
        1008,
        Buffer.concat(
          Array.from({ length: 16_000 }, (_, at) =>
            webSocketFrame(at === 0 ? 'text' : 'continuation', 'x', { isLast: false }),
          ),
        ),
      ),
    },
    {
      name: '200 messages of almost 1 MiB that never end',
      by: 'customer',
      // The memory of one address for bodies.
      bytes: 100 * mebibyte,
      async play(target) {
        const clients = await openMany(target, 200);
        const bytes = unfinished();
        await Promise.all(clients.map((client) => client.write(bytes)));
        await sleep(holdMs);
      },
    },
    {
      name: 'a frame that claims 1 TiB',
      by: 'customer',
      connections: few,
      play: closedWith(1009, webSocketFrame('text', 'x', { claimedBytes: 2 ** 40 })),
    },
    {
      name: 'a message of 1 MiB and a byte',
      by: 'customer',
      connections: few,
      play: closedWith(1009, webSocketFrame('text', Buffer.alloc(mebibyte + 1, 'x'))),
    },
    {
      name: 'a frame without a mask',
      by: 'customer',
      connections: few,
      play: closedWith(1002, webSocketFrame('text', '{}', { isMasked: false })),
    },
    {
      name: 'a compressed message',
      by: 'customer',
      connections: few,
      play: closedWith(
        1002,
        webSocketFrame('text', Buffer.alloc(100), { isCompressed: true }),
        'sec-websocket-extensions: permessage-deflate; client_max_window_bits\r\n',
      ),
    },
    {
      name: 'a flood of pings',
      by: 'customer',
      connections: few,
      play: (target) => floodAll(target, repeatedFrame(webSocketFrame('ping')), true),
    },
    {
      name: 'a flood of long pings',
      by: 'customer',
      connections: few,
      play: (target) => floodAll(target, repeatedFrame(webSocketFrame('ping', Buffer.alloc(125))), true),
    },
    {
      name: 'events whose answers are never read',
      by: 'customer',
      connections: few,
      play: (target) => floodAll(target, repeatedFrame(unknownEvent), false),
    },
    {
      name: `${idle} idle sessions, and more that are refused`,
      by: 'customer',
      connections: idle,
      memoryMiBMax: 0.125,
      async play(target) {
        const clients = await openMany(target, idle + few);
        await sleep(holdMs);
        const refused = clients.filter(({ received }) => received.includes('"code":"overloaded"'));
        assert.equal(refused.length, few);
      },
    },
    {
      name: 'an upgrade with a body',
      by: 'customer',
      connections: few,
      play: refusedWith(400, ({ server }) =>
        upgradeRequest(path, server.apiKey, `content-length: 5\r\n`).concat('hello'),
      ),
    },
    {
      name: 'an upgrade without a key',
      by: 'stranger',
      connections: few,
      play: refusedWith(401, () => upgradeRequest(path, undefined)),
    },
    {
      name: 'an upgrade at another path',
      by: 'stranger',
      connections: few,
      play: refusedWith(404, () => upgradeRequest('/api/v1/realtimes', undefined)),
    },
    {
      name: 'an upgrade to HTTP/2',
      by: 'customer',
      connections: few,
      play: refusedWith(404, ({ server }) =>
        upgradeRequest(path, server.apiKey, 'http2-settings: AAMAAABk\r\n').replace(
          'upgrade: websocket',
          'upgrade: h2c',
        ),
      ),
    },
  ],
};

/** A frame, again and again in 64 KiB. */
function repeatedFrame(frame: Buffer): Buffer {
  return Buffer.concat(Array.from({ length: Math.floor(65_536 / frame.length) }, () => frame));
}
