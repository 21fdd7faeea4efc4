import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../support/random.ts';
import {
  data,
  endHeaders,
  endStream,
  frame,
  frameTypes,
  type HeaderList,
  headerBlock,
  initialWindowSize,
  ping,
  preface,
  type RawHttp2,
  type RawHttp2Options,
  request,
  requestHeaders,
  resetStream,
  settings,
  windowUpdate,
} from '../../support/raw-http2.ts';
import type { Attack, AttackClass } from '../attack.ts';
import { repeated } from '../harness/messages.ts';
import type { Target } from '../harness/target.ts';

const typed = (type: string): HeaderList => [['content-type', type]];
const speak = { method: 'POST', path: '/api/v1/audio/speech' };
const rpc = { method: 'POST', path: '/parley.catalog.v1.CatalogService/ListModels' };
const grpc = { ...rpc, headers: typed('application/grpc') };
const many = (times: number, make: (index: number) => Buffer) =>
  Buffer.concat(Array.from({ length: times }, (_, index) => make(index)));
const id = (index: number) => 1 + 2 * index;
const openBody = request(1, { ...speak, flags: endHeaders });
const continuation = (block?: Buffer) => frame(frameTypes.continuation, 0, 1, block);
const priority = (streamId: number) => frame(frameTypes.priority, 0, streamId, Buffer.alloc(5, 1));
const raw = (type: number, flags: number, streamId: number, length: number) => {
  const bytes = frame(frameTypes.data, flags, streamId, Buffer.alloc(length));
  bytes[3] = type;
  return bytes;
};

const connections = 4;
const watchMs = 1_500;
const partBytes = 65_536;

/**
 * Sends on a few connections until the server closes them, or until a while after everything was sent.
 *
 * @param requests those that each connection has served, where its frames are requests
 */
function flood(
  name: string,
  bytes: () => Buffer,
  { requests = 1, ...options }: RawHttp2Options & { readonly requests?: number } = {},
): Attack {
  const attackOnce = async (client: RawHttp2, all: Buffer) => {
    for (let at = 0; at < all.length && !client.isClosed; at += partBytes) {
      await client.write(all.subarray(at, at + partBytes));
    }
    const sentAtMs = Date.now();
    while (!client.isClosed && Date.now() - sentAtMs < watchMs) await sleep(10);
  };
  return {
    name,
    by: 'stranger',
    connections,
    requests: connections * requests,
    async play(target) {
      const all = bytes();
      const clients = await Promise.all(Array.from({ length: connections }, () => target.http2(options)));
      await Promise.all(clients.map((client) => attackOnce(client, all)));
    },
  };
}

const frames = 100_000;
const moreHeaders = headerBlock([['x-more', 'b'.repeat(1000)]]);
const largeHeader: HeaderList = [['x-more', 'b'.repeat(15_000)]];
/** One indexed header (RFC 7541, 6.1) that stands for 4 KB: it is added to the table once and referred to thousands of times. */
const bomb = Buffer.concat([
  Buffer.from([0x40]),
  headerBlock([['x', 'y'.repeat(4_000)]]).subarray(1),
  Buffer.alloc(16_000, 0xbe),
]);

export const http2: AttackClass = {
  title: 'HTTP/2',
  attacks: [
    flood('pings', () => repeated(ping(), frames)),
    flood('settings', () => repeated(settings([initialWindowSize, 65_535]), frames)),
    flood('empty settings', () => repeated(settings(), frames)),
    flood('acknowledgements of settings', () => repeated(frame(frameTypes.settings, 1, 0), frames)),
    flood('settings of one frame', () =>
      settings(...Array.from({ length: 2_700 }, () => [initialWindowSize, 1] as const)),
    ),
    flood('priorities', () => many(frames, (index) => priority(id(index)))),
    flood('unknown frames', () => repeated(raw(0xbe, 0, 0, 8), frames)),
    flood('window updates', () => repeated(windowUpdate(0, 1), frames)),
    flood('window updates of no bytes', () => repeated(windowUpdate(0, 0), frames)),
    flood('a window that overflows', () => repeated(windowUpdate(0, 0x7fffffff), 2)),
    flood('resets', () =>
      many(20_000, (index) => Buffer.concat([request(id(index)), resetStream(id(index))])),
    ),
    flood('resets of gRPC', () =>
      many(20_000, (index) => Buffer.concat([request(id(index), grpc), resetStream(id(index))])),
    ),
    flood('resets that the server must send', () =>
      many(20_000, (index) =>
        Buffer.concat([request(id(index), { ...speak, flags: endHeaders }), windowUpdate(id(index), 0)]),
      ),
    ),
    flood('resets of streams that are idle', () => many(frames, (index) => resetStream(id(index)))),
    flood('more streams than may be open', () =>
      many(20_000, (index) => request(id(index), { ...speak, flags: endHeaders })),
    ),
    flood('empty data', () => Buffer.concat([openBody, repeated(data(1), frames)])),
    flood('data of padding only', () =>
      Buffer.concat([
        openBody,
        repeated(
          Buffer.concat([
            frame(frameTypes.data, 8, 1, Buffer.concat([Buffer.from([255]), Buffer.alloc(255)])),
          ]),
          20_000,
        ),
      ]),
    ),
    flood('data for no stream', () => repeated(data(7, Buffer.from('x')), frames)),
    flood('data for stream 0', () => repeated(data(0, Buffer.from('x')), frames)),
    flood('headers without an end', () =>
      Buffer.concat([request(1, { flags: 0 }), many(1_000, () => continuation(moreHeaders))]),
    ),
    flood('empty continuations', () =>
      Buffer.concat([request(1, { flags: 0 }), repeated(continuation(), frames)]),
    ),
    flood('a header table that unpacks', () =>
      many(100, (index) =>
        frame(
          frameTypes.headers,
          endHeaders | endStream,
          id(index),
          index === 0 ? bomb : Buffer.alloc(16_000, 0xbe),
        ),
      ),
    ),
    flood('large headers', () => many(100, (index) => request(id(index), { headers: largeHeader })), {
      requests: 100,
    }),
    flood('headers that are none', () => frame(frameTypes.headers, endHeaders, 1, Buffer.alloc(6, 0xff))),
    flood('headers in capitals', () => request(1, { headers: [['X-Capital', 'a']] })),
    flood(
      'headers of a connection',
      () =>
        many(100, (index) =>
          request(id(index), {
            headers: [
              ['connection', 'close'],
              ['transfer-encoding', 'chunked'],
            ],
          }),
        ),
      { requests: 100 },
    ),
    flood('two lengths', () =>
      request(1, {
        ...speak,
        flags: endHeaders,
        headers: [
          ['content-length', '1'],
          ['content-length', '2'],
        ],
      }),
    ),
    flood('a length that is wrong', () =>
      Buffer.concat([
        request(1, { ...speak, flags: endHeaders, headers: [['content-length', '1']] }),
        data(1, Buffer.from('12345'), endStream),
      ]),
    ),
    flood('no path', () =>
      frame(frameTypes.headers, endHeaders | endStream, 1, headerBlock([[':method', 'GET']])),
    ),
    flood('two paths', () => request(1, { headers: [[':path', '/']] })),
    flood('a path of nothing', () => request(1, { path: '' })),
    flood('a tunnel', () =>
      frame(
        frameTypes.headers,
        endHeaders,
        1,
        headerBlock([
          [':method', 'CONNECT'],
          [':authority', 'x'],
        ]),
      ),
    ),
    flood('streams of the server', () => request(2)),
    flood('a push', () => raw(5, 4, 1, 8)),
    flood('goaways', () => repeated(frame(frameTypes.goaway, 0, 0, Buffer.alloc(8)), frames)),
    flood('a frame over the limit', () => frame(frameTypes.headers, endHeaders, 1, Buffer.alloc(20_000))),
    flood('a frame that says 16 MB', () =>
      Buffer.concat([Buffer.from([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]), Buffer.alloc(100_000)]),
    ),
    flood('settings of a wrong length', () => frame(frameTypes.settings, 0, 0, Buffer.alloc(5))),
    flood('a ping of a wrong length', () => frame(frameTypes.ping, 0, 0, Buffer.alloc(7))),
    flood(
      'a window of no bytes',
      () => Buffer.concat([settings([initialWindowSize, 0]), many(100, (index) => request(id(index)))]),
      { requests: 100 },
    ),
    flood(
      'requests that are never read',
      () =>
        Buffer.concat([
          settings([initialWindowSize, 1]),
          many(100, (index) => request(id(index), { path: '/nowhere' })),
        ]),
      { requests: 100 },
    ),
    flood('a stream that depends on itself', () => priority(0)),
    flood('trailers without an end', () =>
      Buffer.concat([openBody, frame(frameTypes.headers, endHeaders, 1, headerBlock([['a', 'b']]))]),
    ),
    flood('headers on a closed stream', () => Buffer.concat([request(1), repeated(request(1), 10_000)])),
    flood('a body on a request that has ended', () =>
      Buffer.concat([request(1), repeated(data(1, Buffer.alloc(1_000)), 1_000)]),
    ),
    flood('no settings', () => Buffer.alloc(0), { start: preface }),
    flood('half a preface', () => Buffer.alloc(0), { start: preface.subarray(0, 20) }),
    flood('nothing acknowledged', () => repeated(ping(), 500), { answers: [] }),
    flood('a preface, then HTTP/1', () => repeated('GET / HTTP/1.1\r\n\r\n', 1_000)),
    flood(
      'expectations of 100-continue',
      () =>
        many(100, (index) =>
          request(id(index), { ...speak, flags: endHeaders, headers: [['expect', '100-continue']] }),
        ),
      { requests: 100 },
    ),
    { name: 'random frames', by: 'stranger', connections: 100, play: (target) => randomFrames(target, 100) },
  ],
};

const randomFrameMax = 40;
const seed = 20_261_122;

/** A fixed sequence, the same in every run. */
async function randomFrames(target: Target, clients: number): Promise<void> {
  const random = new Random(seed);
  for (let round = 0; round < clients; round += 10) {
    const all = Array.from({ length: 10 }, async () => {
      const client = await target.http2();
      const count = random.between(1, randomFrameMax);
      await client.write(...Array.from({ length: count }, () => randomFrame(random)));
      await sleep(random.below(4));
      client.close();
    });
    await Promise.all(all);
  }
}

function randomFrame(random: Random): Buffer {
  const streamId = id(random.below(6));
  const bytes = Buffer.from(Array.from({ length: random.below(40) }, () => random.below(256)));
  const make: (() => Buffer)[] = [
    () => request(streamId, { ...random.pick([speak, rpc, grpc]), flags: random.pick([0, 1, 4, 5]) }),
    () => request(streamId, { method: random.pick(['GET', 'HEAD', 'POST', 'PUT', 'OPTIONS', '']) }),
    () => data(streamId, bytes, random.pick([0, 1, 8])),
    () => resetStream(streamId, random.below(14)),
    () => windowUpdate(random.pick([0, streamId]), random.pick([0, 1, 1000, 0x7fffffff])),
    () => settings([random.below(8), random.pick([0, 1, 100, 65_535, 0x7fffffff])]),
    () =>
      frame(
        frameTypes.headers,
        random.pick([1, 4, 5, 0x2c]),
        streamId,
        headerBlock(requestHeaders('GET', '/')),
      ),
    () => frame(random.pick(Object.values(frameTypes)), random.below(256), random.pick([0, streamId]), bytes),
  ];
  return random.pick(make)();
}
