import { setTimeout as sleep } from 'node:timers/promises';
import { data, endHeaders, frameTypes, type HeaderList, request } from '../../support/raw-http2.ts';
import type { AttackClass } from '../attack.ts';
import { until } from '../harness/expected.ts';
import { chatPath, mebibyte } from '../harness/messages.ts';
import type { Target } from '../harness/target.ts';

const streams = 100;
const frameBytes = 16_384;
const messageBytes = 19 * mebibyte;
const holdMs = 1_000;
/** Streams on one connection. */
const fillBytesMax = 100 * mebibyte;
const reflectionPath = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';

/** The head of a message whose rest never follows. */
const messageHead = Buffer.from([0, 0, 0, 0, 0]);
messageHead.writeUInt32BE(messageBytes + 1, 1);

/** Fills the server's flow-control windows on every stream of a connection, and waits. */
async function fillStreams(target: Target, path: string, key?: string): Promise<void> {
  const client = await target.http2();
  const headers: HeaderList = [
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
    ...(key === undefined ? [] : ([['authorization', `Bearer ${key}`]] as const)),
  ];
  const open = new Set(Array.from({ length: streams }, (_, index) => 1 + 2 * index));
  const windows = new Map([0, ...open].map((id) => [id, 65_535]));
  const widen = (id: number, by: number) => windows.set(id, (windows.get(id) ?? 0) + by);
  const heads = [...open].map((id) => request(id, { method: 'POST', path, headers, flags: endHeaders }));
  await client.write(...heads, ...[...open].map((id) => data(id, messageHead)));
  for (const id of open) for (const each of [0, id]) widen(each, -messageHead.length);
  const part = Buffer.alloc(frameBytes);
  let [sent, movedAtMs] = [0, Date.now()];
  while (Date.now() - movedAtMs < holdMs && !client.isClosed && sent < fillBytesMax) {
    for (const { type, streamId, payload } of client.frames.splice(0)) {
      if (type === frameTypes.windowUpdate) widen(streamId, payload.readUInt32BE());
      if (type === frameTypes.resetStream) open.delete(streamId);
    }
    const frames: Buffer[] = [];
    for (const id of open) {
      const room = Math.min(windows.get(0) ?? 0, windows.get(id) ?? 0, frameBytes);
      if (room <= 0) continue;
      frames.push(data(id, part.subarray(0, room)));
      for (const each of [0, id]) widen(each, -room);
      sent += room;
    }
    if (frames.length === 0) await sleep(1);
    else if (await client.write(...frames)) movedAtMs = Date.now();
  }
}

/** The same on four connections at once. */
async function fillAll(target: Target, path: string, key?: string): Promise<void> {
  await Promise.all(Array.from({ length: 4 }, () => fillStreams(target, path, key)));
}

const idleConnections = 1_030;

export const heldMemory: AttackClass = {
  title: 'Bytes and connections that are held',
  attacks: [
    {
      name: 'gRPC: 100 streams of 19 MiB that wait',
      by: 'stranger',
      connections: 4,
      requests: 4 * streams,
      play: (target) => fillAll(target, chatPath),
    },
    {
      name: 'gRPC: 100 streams of reflection that wait within a message',
      by: 'stranger',
      connections: 4,
      requests: 4 * streams,
      play: (target) => fillAll(target, reflectionPath),
    },
    {
      name: 'gRPC: 4 connections of 100 streams of 19 MiB that wait',
      by: 'customer',
      // The budget of one address applies to all together.
      bytes: 100 * mebibyte,
      play: (target) => fillAll(target, chatPath, target.server.apiKey),
    },
    {
      name: `${idleConnections} idle connections`,
      by: 'stranger',
      connections: idleConnections,
      async play(target) {
        await Promise.all(Array.from({ length: idleConnections }, () => target.http1()));
        await sleep(holdMs);
      },
    },
    {
      name: `${idleConnections} connections that say one letter`,
      by: 'stranger',
      connections: idleConnections,
      async play(target) {
        const open = async () => (await target.http1()).write('G');
        await Promise.all(Array.from({ length: idleConnections }, open));
        await sleep(holdMs);
      },
    },
    {
      name: `${idleConnections} connections that each watch the health`,
      by: 'stranger',
      connections: idleConnections,
      async play(target) {
        const open = async () => {
          const client = await target.http2();
          const headers: HeaderList = [
            ['content-type', 'application/grpc'],
            ['te', 'trailers'],
          ];
          const path = '/grpc.health.v1.Health/Watch';
          await client.write(
            request(1, { method: 'POST', path, headers, flags: endHeaders }),
            data(1, Buffer.alloc(5), 1),
          );
          return client;
        };
        const all = await Promise.all(Array.from({ length: idleConnections }, open));
        await until('a watch is answered', () =>
          all.some((each) => each.received(frameTypes.data).length > 0),
        );
        await sleep(holdMs);
      },
    },
    {
      name: `${idleConnections} connections of HTTP/2 without a request`,
      by: 'stranger',
      connections: idleConnections,
      async play(target) {
        await Promise.all(Array.from({ length: idleConnections }, () => target.http2()));
        await sleep(holdMs);
      },
    },
  ],
};
