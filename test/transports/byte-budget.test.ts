/** Request bodies in memory count in one budget with a share for each address, on every wire. */
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type BufferedBody, ByteBudget, type ByteLimits } from '../../src/transports/byte-budget.ts';
import { withFakes } from '../support/fake-engines.ts';
import { type Parley, startParley } from '../support/parley.ts';

describe('the budget', () => {
  const never = new AbortController().signal;
  const small = { bytesMax: 1_000_000, bytesPerAddressMax: 400_000, waitMsMax: 60_000 };
  const open = (limits: Partial<ByteLimits> = {}) => new ByteBudget({ ...small, ...limits });
  const [one, other] = ['192.0.2.1', '192.0.2.2'];
  /** The names of those that were admitted or refused, in order. */
  const watch = (outcomes: string[], name: string, body: BufferedBody, bytes: number) =>
    body.admit(bytes).then(
      () => void outcomes.push(name),
      (error) => void outcomes.push(`${name}: ${error.code}`),
    );
  const settled = () => new Promise((resolve) => setImmediate(resolve));

  it('admits at once or not at all what cannot wait, behind those that wait', async () => {
    const budget = open();
    const [first, second] = [budget.bodyOf(one, never), budget.bodyOf(one, never)];
    expect(first.tryAdmit(300_000)).toBe(true);
    expect(second.tryAdmit(200_000)).toBe(false);
    const waiting = second.admit(200_000);
    expect(budget.bodyOf(one, never).tryAdmit(1)).toBe(false);
    first.close();
    await waiting;
    expect(first.tryAdmit(1)).toBe(false);
    expect(budget.bytes).toBe(200_000);
    second.close();
    expect(budget.bytes).toBe(0);
  });

  it('admits within the share of an address, and the next when another returns its bytes', async () => {
    const budget = open();
    const [first, second] = [budget.bodyOf(one, never), budget.bodyOf(one, never)];
    const outcomes: string[] = [];
    await first.admit(300_000);
    const waiting = watch(outcomes, 'second', second, 200_000);
    await budget.bodyOf(other, never).admit(400_000);
    expect(outcomes).toEqual([]);
    first.keep(200_000);
    await waiting;
    expect(budget.bytes).toBe(800_000);
  });

  it('counts an IPv6 network as one address', async () => {
    const budget = open({ waitMsMax: 0 });
    await budget.bodyOf('2001:db8::1', never).admit(300_000);
    await expect(budget.bodyOf('2001:db8::2', never).admit(300_000)).rejects.toMatchObject({
      code: 'overloaded',
      httpStatus: 503,
      retryAfterSeconds: expect.any(Number),
    });
    await budget.bodyOf('2001:db8:0:1::1', never).admit(300_000);
  });

  it('applies to all addresses together', async () => {
    const budget = open({ waitMsMax: 0 });
    for (let index = 0; index < 10; index++) await budget.bodyOf(`192.0.2.${index}`, never).admit(100_000);
    await expect(budget.bodyOf('192.0.2.10', never).admit(1)).rejects.toMatchObject({ code: 'overloaded' });
  });

  it('admits a body that is larger than the share or the budget if it is alone', async () => {
    const budget = open({ waitMsMax: 0 });
    const body = budget.bodyOf(one, never);
    await body.admit(65_536);
    await body.admit(2_000_000);
    await expect(budget.bodyOf(one, never).admit(1)).rejects.toMatchObject({ code: 'overloaded' });
    await expect(budget.bodyOf(other, never).admit(1)).rejects.toMatchObject({ code: 'overloaded' });
    body.keep(0);
    await budget.bodyOf(other, never).admit(1);
  });

  it('keeps the order within an address, and one address does not delay another', async () => {
    const budget = open();
    const first = budget.bodyOf(one, never);
    await first.admit(400_000);
    const outcomes: string[] = [];
    const all = [
      watch(outcomes, 'large', budget.bodyOf(one, never), 400_000),
      watch(outcomes, 'small', budget.bodyOf(one, never), 1),
      watch(outcomes, 'other', budget.bodyOf(other, never), 400_000),
    ];
    await settled();
    expect(outcomes).toEqual(['other']);
    first.keep(0);
    await settled();
    expect(outcomes).toEqual(['other', 'large']);
    void all;
  });

  it('forgets one that leaves, and admits those behind it', async () => {
    const budget = open();
    const first = budget.bodyOf(one, never);
    await first.admit(300_000);
    const left = new AbortController();
    const outcomes: string[] = [];
    const leaving = watch(outcomes, 'large', budget.bodyOf(one, left.signal), 200_000);
    const next = watch(outcomes, 'small', budget.bodyOf(one, never), 100_000);
    await settled();
    expect(outcomes).toEqual([]);
    left.abort({ code: 'request_cancelled' });
    await Promise.all([leaving, next]);
    expect(outcomes.sort()).toEqual(['large: request_cancelled', 'small']);
    first.keep(0);
    expect(budget.bytes).toBe(100_000);
  });

  it('forgets an address once its bodies are closed', () => {
    const budget = open();
    const [first, second] = [budget.bodyOf(one, never), budget.bodyOf(one, never)];
    first.tryAdmit(1);
    first.close();
    first.close();
    expect(budget.shares.size).toBe(1);
    second.close();
    expect(budget.shares.size).toBe(0);
  });

  it('limits waiting requests by their received bytes', async () => {
    const budget = open();
    await budget.bodyOf(one, never).admit(400_000);
    const outcomes: string[] = [];
    for (let index = 0; index < 6; index++) void watch(outcomes, `${index}`, budget.bodyOf(one, never), 1);
    await settled();
    expect(outcomes).toEqual(['4: overloaded', '5: overloaded']);
  });
});

const mebibyte = 1_048_576;

interface Wire {
  readonly name: string;
  readonly headers: (bytes: number) => OutgoingHttpHeaders;
  /** Sent at once. From it the server knows the size of the body or its maximum. */
  readonly start: (bytes: number) => Buffer;
}

const posted = (path: string, type: string): OutgoingHttpHeaders => ({
  ':method': 'POST',
  ':path': path,
  'content-type': type,
});
const chat = '/parley.chat.v1.ChatService/CreateChatCompletion';
const upload = '/parley.audio.v1.TranscriptionService/UploadTranscription';
const envelope = (bytes: number) => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes - 5, 1);
  return head;
};
const ofLength = (headers: OutgoingHttpHeaders) => (bytes: number) => ({
  ...headers,
  'content-length': bytes,
});
const nothing = () => Buffer.alloc(0);
/** More than a body of unknown length gets at first. */
const first = () => Buffer.alloc(70_000, ' ');

const rest = posted('/api/v1/chat/completions', 'application/json');
const connectUnary = posted(chat, 'application/json');
const wires: readonly Wire[] = [
  { name: 'REST', headers: ofLength(rest), start: nothing },
  { name: 'REST, of unknown length', headers: () => rest, start: first },
  { name: 'Connect', headers: ofLength(connectUnary), start: nothing },
  { name: 'Connect, of unknown length', headers: () => connectUnary, start: first },
  { name: 'gRPC-Web', headers: ofLength(posted(chat, 'application/grpc-web+proto')), start: envelope },
  { name: 'gRPC', headers: () => posted(chat, 'application/grpc'), start: envelope },
  { name: 'gRPC, upload', headers: () => posted(upload, 'application/grpc'), start: envelope },
];

/** The status of an answer, of HTTP or of gRPC, wherever its wire puts it. */
class Sent {
  readonly stream: ClientHttp2Stream;
  readonly answer: Promise<{ readonly status: string; readonly retryAfter: unknown }>;

  constructor(stream: ClientHttp2Stream) {
    this.stream = stream;
    this.answer = this.#read();
    // A client that leaves has no status.
    this.answer.catch(() => undefined);
    stream.on('error', () => undefined);
  }

  async #read() {
    let trailers: Record<string, unknown> = {};
    this.stream.on('trailers', (all) => {
      trailers = all;
    });
    const [headers] = await once(this.stream, 'response');
    const body = await text(this.stream);
    const inBody = /grpc-status: ?(\d+)/i.exec(body)?.[1];
    const status = trailers['grpc-status'] ?? headers['grpc-status'] ?? inBody ?? headers[':status'];
    return { status: String(status), retryAfter: headers['retry-after'] };
  }
}

describe.each(wires)('over $name, a body', ({ name, headers, start }) => {
  let parley: Parley;
  let sessions: ClientHttp2Session[] = [];
  afterEach(async () => {
    for (const session of sessions) session.destroy();
    sessions = [];
    await parley.close();
  });

  const startWith = async (bufferWaitMsMax: number) => {
    parley = await startParley({
      settings: {
        server: { trustedProxies: ['127.0.0.1'] },
        limits: {
          bufferedBytesMax: 64 * mebibyte,
          bufferedBytesPerAddressMax: 6 * mebibyte,
          bufferWaitMsMax,
        },
      },
      engines: withFakes({}),
    });
  };
  const bytes = 4 * mebibyte;
  const [one, other] = ['192.0.2.1', '192.0.2.2'];
  const send = (address: string, key = parley.apiKey) => {
    const session = connect(new URL(parley.baseUrl).origin);
    session.on('error', () => undefined);
    sessions.push(session);
    const sender = { authorization: `Bearer ${key}`, 'x-forwarded-for': address };
    const stream = session.request({ ...headers(bytes), ...sender });
    stream.write(start(bytes));
    return new Sent(stream);
  };
  const finish = ({ stream }: Sent) => {
    const { 'content-length': length } = headers(bytes);
    stream.end(Buffer.alloc(length === undefined && start !== envelope ? 10 : bytes - start(bytes).length));
  };
  const buffered = async () => Number(/^parley_buffered_bytes (\d+)/m.exec(await parley.metrics())?.[1]);
  const isOverloaded = name.startsWith('gRPC') ? '14' : '503';
  const isRead = name.startsWith('gRPC') ? '3' : '400';

  it('is refused if there is no room for it in time, and read when there is', async () => {
    await startWith(200);
    const holder = send(one);
    await expect.poll(buffered).toBeGreaterThanOrEqual(bytes);
    const held = await buffered();
    const { status, retryAfter } = await send(one).answer;
    expect(status).toBe(isOverloaded);
    if (name.startsWith('REST')) expect(Number(retryAfter)).toBeGreaterThan(0);
    expect(await buffered()).toBe(held);
    const elsewhere = send(other);
    await expect.poll(buffered).toBeGreaterThanOrEqual(held + bytes);
    finish(elsewhere);
    expect((await elsewhere.answer).status).toBe(isRead);
    holder.stream.close(8);
    await expect.poll(buffered).toBe(0);
    const next = send(one);
    finish(next);
    expect((await next.answer).status).toBe(isRead);
    await expect.poll(buffered).toBe(0);
  });

  it('waits for its turn, unread', async () => {
    await startWith(120_000);
    const holder = send(one);
    await expect.poll(buffered).toBeGreaterThanOrEqual(bytes);
    const [held, next, leaving] = [await buffered(), send(one), send(one)];
    const more = Buffer.alloc(bytes - start(bytes).length);
    for (const { stream } of [next, leaving]) stream.write(more);
    const elsewhere = send(other);
    finish(elsewhere);
    await elsewhere.answer;
    expect(await buffered()).toBe(held);
    for (const { stream } of [next, leaving]) expect(stream.writableLength).toBeGreaterThan(bytes / 2);
    leaving.stream.close(8);
    finish(holder);
    expect((await holder.answer).status).toBe(isRead);
    next.stream.end();
    expect((await next.answer).status).toBe(isRead);
    await expect.poll(buffered).toBe(0);
  });

  it('is forgotten with its address once it has ended, also at a path that is not served', async () => {
    const budgets = vi.spyOn(ByteBudget.prototype, 'bodyOf');
    await startWith(120_000);
    const session = connect(new URL(parley.baseUrl).origin);
    sessions.push(session);
    const { 'content-length': _, ...empty } = headers(bytes);
    for (const path of [empty[':path'], '/parley.chat.v1.ChatService/Nothing'])
      await new Sent(session.request({ ...empty, ':path': path }, { endStream: true })).answer;
    const [budget] = budgets.mock.contexts as ByteBudget[];
    await expect.poll(() => budget?.shares.size).toBe(0);
    expect(budgets).toHaveBeenCalledTimes(2);
    budgets.mockRestore();
  });

  it('counts nothing and is not read without a valid key', async () => {
    await startWith(120_000);
    const refused = await Promise.all(Array.from({ length: 20 }, () => send(one, 'pk_wrong').answer));
    expect(new Set(refused.map(({ status }) => status))).toEqual(
      new Set([name.startsWith('gRPC') ? '16' : '401']),
    );
    expect(await buffered()).toBe(0);
  });
});
