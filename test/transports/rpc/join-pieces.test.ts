/** Bodies in pieces of one byte. */
import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { joinPieces } from '../../../src/transports/rpc/join-pieces.ts';
import { RawClient } from '../../support/raw-http.ts';
import { data, endHeaders, endStream, RawHttp2, request } from '../../support/raw-http2.ts';

const count = 20_000;
const sent = Array.from({ length: count }, (_, index) => String(index % 10)).join('');

/** Reads a body like a server. Returns its bytes and the number of pieces. */
async function read(body: Readable) {
  joinPieces(body);
  const pieces: Buffer[] = [];
  for await (const piece of body) pieces.push(piece);
  return { text: Buffer.concat(pieces).toString(), pieces: pieces.length };
}

type Body = Awaited<ReturnType<typeof read>>;

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function overHttp1(): Promise<Body> {
  const body = Promise.withResolvers<Body>();
  const server = createServer((incoming) => body.resolve(read(incoming)));
  const client = await RawClient.open(await listen(server));
  const chunks = Array.from(sent, (character) => `1\r\n${character}\r\n`).join('');
  await client.write(`POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
  const result = await body.promise;
  client.close();
  server.close();
  return result;
}

async function overHttp2(): Promise<Body> {
  const body = Promise.withResolvers<Body>();
  const server = createHttp2Server();
  server.on('stream', (stream) => body.resolve(read(stream)));
  const client = await RawHttp2.open(await listen(server));
  const frames = Array.from(sent, (character) => data(1, Buffer.from(character)));
  await client.write(request(1, { method: 'POST', flags: endHeaders }), ...frames);
  await client.write(data(1, Buffer.alloc(0), endStream));
  const result = await body.promise;
  client.close();
  server.close();
  return result;
}

describe('a body in pieces of one byte', () => {
  it.each([
    ['HTTP/1', overHttp1],
    ['HTTP/2', overHttp2],
  ])('arrives complete and in a few large ones over %s', async (_, receive) => {
    const body = await receive();
    expect(body.text).toBe(sent);
    expect(body.pieces).toBeLessThan(count / 20);
  });
});

describe('pieces that are joined', () => {
  it('are not delayed: a single piece arrives in the next turn', async () => {
    const body = new Readable({ read: () => undefined });
    joinPieces(body);
    const read: string[] = [];
    body.on('data', (piece: Buffer) => read.push(piece.toString()));
    for (let index = 0; index < 20; index++) {
      body.push(Buffer.from(`${index}`));
      await turn();
      await turn();
      expect(read.at(-1)).toBe(`${index}`);
    }
  });

  it('are complete if the body ends in the same turn', async () => {
    const body = new Readable({ read: () => undefined });
    joinPieces(body);
    for (const character of sent) body.push(Buffer.from(character));
    body.push(null);
    expect(await text(body)).toBe(sent);
  });

  it('apply backpressure if they are not read', async () => {
    const body = new Readable({ read: () => undefined });
    joinPieces(body);
    const part = Buffer.alloc(1_000);
    let taken = 0;
    while (body.push(part) && taken < 1_000) taken++;
    expect(taken).toBeLessThan(100);
  });
});
