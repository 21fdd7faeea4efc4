/** Attacks on the port that cost the attacker little. Each ends in time, costs the server little, and the server continues. */
import { once } from 'node:events';
import { constants } from 'node:http2';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { inTime, LimitedPort, limits, sleep, speechBody } from '../../support/limited-port.ts';
import { peakBufferBytes } from '../../support/live-memory.ts';
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
  type RequestFrame,
  request,
  requestHeaders,
  resetStream,
  settings,
  windowUpdate,
} from '../../support/raw-http2.ts';

const {
  NGHTTP2_CANCEL: cancel,
  NGHTTP2_ENHANCE_YOUR_CALM: enhanceYourCalm,
  NGHTTP2_INTERNAL_ERROR: internalError,
} = constants;
const { connectionsMax, streamsPerConnectionMax } = limits;

const repeated = (times: number, make: (index: number) => Buffer) =>
  Buffer.concat(Array.from({ length: times }, (_, index) => make(index)));
const typed = (type: string): HeaderList => [['content-type', type]];
const speak = { method: 'POST', path: '/api/v1/audio/speech' };
const rpc = { method: 'POST', path: '/parley.catalog.v1.CatalogService/ListModels' };
const grpc = { ...rpc, headers: typed('application/grpc') };
const openedAndReset = (streamId: number, options?: RequestFrame) =>
  Buffer.concat([request(streamId, options), resetStream(streamId)]);

let port: LimitedPort;
beforeAll(async () => {
  port = await LimitedPort.start();
});
afterAll(() => port.parley.close());
afterEach(() => port.isWell());

/**
 * Each runs on as many connections as the server accepts. If the server then serves another client, it has its sockets
 * back, while the other ends are still open.
 */
describe('the port loses clients that', () => {
  type Attack = (client: RawHttp2) => unknown;
  const nothing = () => undefined;
  const flood =
    (...parts: Buffer[]): Attack =>
    (client) =>
      client.write(...parts);
  const haveAgreed = (client: RawHttp2) =>
    expect.poll(() => client.received(frameTypes.settings).length, inTime).toBe(2);
  const unendingHeaders: Attack = async (client) => {
    await haveAgreed(client);
    await client.write(request(1, { flags: endStream }));
  };
  const drippingHeaders: Attack = async (client) => {
    await haveAgreed(client);
    await client.write(request(1, { flags: 0 }));
    while (await client.write(continuation())) await sleep(400);
  };
  const continuation = (block?: Buffer) => frame(frameTypes.continuation, 0, 1, block);
  const moreHeaders = headerBlock([['x-more', 'b'.repeat(1000)]]);
  const priority = (streamId: number) => frame(frameTypes.priority, 0, streamId, Buffer.alloc(5, 1));
  const openBody = request(1, { ...speak, flags: endHeaders });

  it.each<[string, Attack, RawHttp2Options?]>([
    ['say nothing', nothing, { start: Buffer.alloc(0) }],
    ['stop halfway through the preface', nothing, { start: preface.subarray(0, 20) }],
    ['leave halfway through it', (client) => client.socket.end(), { start: preface.subarray(0, 20) }],
    ['send no settings', nothing, { start: preface }],
    ['answer nothing', nothing, { answers: [] }],
    ['ask for nothing', nothing],
    ['send headers without an end', unendingHeaders],
    ['send headers for ever, bit by bit', drippingHeaders],
    [
      'flood headers',
      flood(
        request(1, { flags: 0 }),
        repeated(200, () => continuation(moreHeaders)),
      ),
    ],
    [
      'flood empty headers',
      flood(
        request(1, { flags: 0 }),
        repeated(5000, () => continuation()),
      ),
    ],
    ['send a frame over the limit', flood(frame(frameTypes.headers, endHeaders, 1, Buffer.alloc(20_000)))],
    ['send headers that are none', flood(frame(frameTypes.headers, endHeaders, 1, Buffer.alloc(6, 0xff)))],
    ['send data for no stream', flood(data(0, Buffer.from('x')))],
    ['open streams of the server', flood(request(2))],
    ['send settings of a wrong length', flood(frame(frameTypes.settings, 0, 0, Buffer.alloc(5)))],
    ['overflow a window', flood(windowUpdate(0, 0x7fffffff), windowUpdate(0, 0x7fffffff))],
    ['speak another protocol', flood(Buffer.from('GET / HTTP/1.1\r\n\r\n'.repeat(20)))],
    ['flood pings', flood(repeated(20_000, ping))],
    ['flood settings', flood(repeated(20_000, () => settings([initialWindowSize, 65_535])))],
    ['flood priorities', flood(repeated(20_000, (index) => priority(1 + 2 * index)))],
    [
      'flood empty data',
      flood(
        openBody,
        repeated(20_000, () => data(1)),
      ),
    ],
    ['flood resets', flood(repeated(300, (index) => openedAndReset(1 + 2 * index)))],
    ['flood resets of gRPC', flood(repeated(300, (index) => openedAndReset(1 + 2 * index, grpc)))],
  ])('%s', async (_, attack, options) => {
    const attackAtOnce = async () => {
      const all = await Promise.all(Array.from({ length: connectionsMax }, () => port.openHttp2(options)));
      await Promise.all(all.map(attack));
      await expect.poll(() => all.filter(({ isClosed }) => !isClosed).length, inTime).toBe(0);
    };
    expect(await peakBufferBytes(attackAtOnce)).toBeLessThan(150_000_000);
  });

  it('reset more than half of over 200 requests in a second', async () => {
    const client = await port.openHttp2();
    const atOnce = streamsPerConnectionMax / 2;
    let requests = 0;
    for (; !client.isClosed && requests < 2000; requests += atOnce) {
      await client.write(repeated(atOnce, (index) => openedAndReset(1 + 2 * (requests + index))));
      await sleep(5);
    }
    // nghttp2 ends it with an internal error if it counts too many first.
    expect([enhanceYourCalm, internalError]).toContain(client.goawayCode);
    expect(requests).toBeGreaterThan(200);
  });

  it('only reset a request now and then', async () => {
    const session = port.openSession();
    for (let round = 0; round < 10; round++) {
      const streams = Array.from({ length: 10 }, () => session.request({ ':path': '/' }));
      const closed = streams.map((stream) => once(stream, 'close'));
      for (const stream of streams) stream.close(cancel);
      await Promise.all(closed);
    }
    const stream = session.request({ ':path': '/api/v1/models', authorization: port.authorization });
    const [headers] = await once(stream, 'response');
    expect(headers[':status']).toBe(200);
  });
});

describe('the port survives', () => {
  const continued: HeaderList = [['expect', '100-continue']];
  const asConnect: HeaderList = [
    [':method', 'CONNECT'],
    [':authority', 'x'],
  ];

  it.each<[string, Buffer]>([
    ['of REST', request(1)],
    ['of REST, with HEAD', request(1, { method: 'HEAD' })],
    ['of REST, with a body to come', request(1, { ...speak, flags: endHeaders })],
    ['of REST that waits to send its body', request(1, { ...speak, flags: endHeaders, headers: continued })],
    ['of REST with another wish', request(1, { ...speak, headers: [['expect', 'more']] })],
    ['of gRPC', request(1, grpc)],
    ['of gRPC, with a body to come', request(1, { ...grpc, flags: endHeaders })],
    ['of gRPC for no method', request(1, { ...grpc, path: '/x.Y/Z' })],
    [
      'of gRPC with a deadline that is none',
      request(1, { ...rpc, headers: [...typed('application/grpc'), ['grpc-timeout', 'x']] }),
    ],
    ['of gRPC, with HEAD', request(1, { ...grpc, method: 'HEAD' })],
    ['of Connect', request(1, { ...rpc, flags: endHeaders, headers: typed('application/json') })],
    ['of gRPC-Web', request(1, { ...rpc, flags: endHeaders, headers: typed('application/grpc-web+proto') })],
    ['for a tunnel', frame(frameTypes.headers, endHeaders, 1, headerBlock(asConnect))],
  ])('a request that is reset with the same packet: %s', async (_, opening) => {
    const client = await port.openHttp2();
    await client.write(opening, resetStream(1), request(3));
    await expect.poll(() => client.received(frameTypes.headers, 3).length, inTime).toBe(1);
  });

  it('floods in the packet that opens the connection', async () => {
    const start = Buffer.concat([preface, settings(), request(1, { ...speak, flags: endHeaders })]);
    for (const flood of [data(1), ping(), settings(), windowUpdate(0, 1), resetStream(1)]) {
      const client = await port.openHttp2({ start: Buffer.concat([start, repeated(5000, () => flood)]) });
      client.close();
    }
  });

  /** A fixed sequence, the same in every run. */
  const randomBelow = (() => {
    let state = 20_261_121;
    return (limit: number) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * limit);
    };
  })();
  const pick = <T>(choices: readonly T[]): T => choices[randomBelow(choices.length)] as T;
  const randomFrame = (): Buffer => {
    const streamId = 1 + 2 * randomBelow(6);
    const bytes = Buffer.from(Array.from({ length: randomBelow(40) }, () => randomBelow(256)));
    const authorized: HeaderList = [['authorization', port.authorization]];
    return pick([
      () => request(streamId, { ...pick([speak, rpc, grpc, {}]), flags: pick([0, 1, 4, 5]) }),
      () => request(streamId, { ...rpc, flags: endHeaders, headers: [...grpc.headers, ...authorized] }),
      () => request(streamId, { method: pick(['GET', 'HEAD', 'POST', 'PUT', 'OPTIONS', '']) }),
      () => port.http2Post(streamId, '/audio/speech', speechBody),
      () => data(streamId, bytes, pick([0, 1, 8])),
      () => resetStream(streamId, randomBelow(14)),
      () => windowUpdate(pick([0, streamId]), pick([0, 1, 1000, 0x7fffffff])),
      () => settings([randomBelow(8), pick([0, 1, 100, 65_535, 0x7fffffff])]),
      () =>
        frame(frameTypes.headers, pick([1, 4, 5, 0x2c]), streamId, headerBlock(requestHeaders('GET', '/'))),
      () => frame(pick(Object.values(frameTypes)), randomBelow(256), pick([0, streamId]), bytes),
    ])();
  };

  it('frames in any order', async () => {
    for (let round = 0; round < 150; round++) {
      const client = await port.openHttp2();
      for (let index = randomBelow(12); index >= 0; index--) {
        await client.write(repeated(1 + randomBelow(3), randomFrame));
        if (randomBelow(3) === 0) await sleep(randomBelow(4));
      }
      client.close();
    }
  });
});
