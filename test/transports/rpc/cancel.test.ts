/** A client that leaves, gives up or reads slowly, over every wire: the engine is stopped. */
import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StreamChatCompletionRequestSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { ChatService } from '../../../gen/parley/chat/v1/chat_service_pb.ts';
import { SpeechService } from '../../../gen/parley/speech/v1/speech_service_pb.ts';
import { type Books, Operator } from '../../conformance/books.ts';
import { type CaseRequest, calling, type WireName, wireNames } from '../../conformance/case.ts';
import { openLine } from '../../conformance/line.ts';
import { slowReaders } from '../../conformance/slow-reader.ts';
import { type Pace, Watch, watchedEngines } from '../../conformance/watched-engines.ts';
import { wires } from '../../conformance/wires.ts';
import { type Parley, startParley } from '../../support/parley.ts';

/** Time for the first part of an answer. The server gives these calls ten minutes, so that only the test ends them. */
const timeoutMs = 1_000;

const messages = [{ role: 'user', content: { value: { case: 'text' as const, value: 'Hello there.' } } }];
const params = { model: 'eliza', messages };
const input = 'Hello there.';

const operations: Readonly<Record<string, CaseRequest>> = {
  speech: calling(SpeechService.method.synthesizeSpeech, { model: 'flite', input, responseFormat: 'pcm' }),
  chat: calling(ChatService.method.createChatCompletion, { params }),
  'chat, streamed': calling(ChatService.method.streamChatCompletion, { params }),
};

interface Row {
  readonly what: string;
  readonly operation: string;
  readonly pace: Pace;
  /** Whether the request costs something: units for speech, credits for chat. */
  readonly pays: boolean;
}

const rows: readonly Row[] = [
  { what: 'speech before its first part', operation: 'speech', pace: 'silent', pays: false },
  { what: 'the middle of speech', operation: 'speech', pace: 'one', pays: true },
  { what: 'a chat', operation: 'chat', pace: 'silent', pays: false },
  { what: 'a streamed chat before its first word', operation: 'chat, streamed', pace: 'silent', pays: false },
  { what: 'the middle of a streamed chat', operation: 'chat, streamed', pace: 'one', pays: true },
];

let watch = new Watch('silent');

const parley = await startParley({ engines: watchedEngines(() => watch) });
const target = { origin: originOf(parley), adminKey: parley.adminKey };
const operator = new Operator(target);
const clients = new Map(wires.map((open) => open(target)).map((client) => [client.name, client]));
afterAll(async () => {
  await Promise.all([...clients.values()].map((client) => client.close()));
  await operator.close();
  await parley.close();
});

/** Calls, then leaves or passes its deadline. Resolves to the client's error and the books after it. */
async function call(wire: string, { operation, pace }: Row, leaving: { timeoutMs: number } | 'leaves') {
  watch = new Watch(pace);
  const request = operations[operation];
  const client = clients.get(wire);
  if (request === undefined || client === undefined) throw new Error('no such call');
  const account = await operator.open({});
  const firstMessage = Promise.withResolvers<void>();
  const leave = new AbortController();
  const answer = client.call({
    method: request.method,
    requests: request.messages(account),
    headers: { authorization: account.authorization ?? '' },
    onMessage: () => firstMessage.resolve(),
    ...(leaving === 'leaves' ? { signal: leave.signal } : leaving),
  });
  await watch.begun;
  if (pace === 'one') await firstMessage.promise;
  leave.abort();
  const { error } = await answer;
  await watch.stopped;
  const books = await operator.booksOf(account, 1);
  return { error, books };
}

function expectCancelled({ records, entries, held, usedUnits }: Books, { operation, pays }: Row): void {
  const isSpeech = operation === 'speech';
  expect(records).toMatchObject([{ state: 'cancelled', http_status: 499, code: 'request_cancelled' }]);
  expect(held).toBe(0);
  expect(usedUnits).toBe(isSpeech && pays ? input.length : 0);
  expect(entries.filter(({ kind }) => kind === 'debit')).toHaveLength(!isSpeech && pays ? 1 : 0);
  if (!isSpeech && pays)
    expect(records).toMatchObject([{ completion_tokens: 2, tokens_source: 'estimated' }]);
}

describe.each(wireNames)('over %s', (wire) => {
  it.each(rows)('the engine is stopped when the client leaves $what', async (row) => {
    const { error, books } = await call(wire, row, 'leaves');
    expect(error?.code).toBe('cancelled');
    expect(watch.hasEnded).toBe(true);
    expectCancelled(books, row);
  });

  it.each(rows)('the engine is stopped when the client’s deadline passes in $what', async (row) => {
    const { error, books } = await call(wire, row, { timeoutMs });
    expect(error?.code).toBe('deadline_exceeded');
    expect(watch.hasEnded).toBe(true);
    expectCancelled(books, row);
  });
});

/** The buffers of loopback alone hold some megabytes. */
const partsUnreadMax = 400;
const restMs = 400;

/** The number of parts once the engine has stopped yielding. */
async function partsAtRest(): Promise<number> {
  for (;;) {
    const before = watch.parts;
    await new Promise((resolve) => setTimeout(resolve, restMs));
    if (watch.parts === before || before > partsUnreadMax) return watch.parts;
  }
}

function originOf({ baseUrl }: Parley): string {
  return new URL(baseUrl).origin;
}

/** Opens an endless answer and reads its first piece. */
async function readSlowly(origin: string, books: Operator, wire: WireName) {
  watch = new Watch('endless');
  const own = watch;
  const account = await books.open({});
  const slow = await slowReaders[wire]({
    origin,
    authorization: account.authorization ?? '',
    request: create(StreamChatCompletionRequestSchema, { params }),
  });
  await slow.take(1);
  return { account, slow, own };
}

function expectPaidFor({ records, entries, held }: Books): void {
  expect(records).toMatchObject([{ state: 'cancelled', code: 'request_cancelled' }]);
  expect(held).toBe(0);
  expect(entries.filter(({ kind }) => kind === 'debit')).toHaveLength(1);
}

describe('a slow reader', () => {
  it.each(wireNames)('over %s slows the engine, which continues when it reads', async (wire) => {
    const { account, slow } = await readSlowly(originOf(parley), operator, wire);
    const atRest = await partsAtRest();
    expect(atRest).toBeLessThan(partsUnreadMax);
    await slow.take(100);
    await expect.poll(() => watch.parts).toBeGreaterThan(atRest);
    slow.leave();
    await watch.stopped;
    expectPaidFor(await operator.booksOf(account, 1));
  });

  it.each(wireNames)('over %s stops the engine when its connection is lost', async (wire) => {
    const line = await openLine(originOf(parley));
    const { account, slow } = await readSlowly(line.origin, operator, wire);
    await partsAtRest();
    line.cut();
    await watch.stopped;
    await expect.poll(() => watch.hasEnded).toBe(true);
    slow.leave();
    line.close();
    expectPaidFor(await operator.booksOf(account, 1));
  });
});

describe('a reader that has not read by the end of the time', () => {
  let hasty: Parley;
  let books: Operator;
  const reading = new Map<WireName, Awaited<ReturnType<typeof readSlowly>>>();
  beforeAll(async () => {
    const settings = { server: { requestMsMax: 10_000, drainMs: 100 } };
    hasty = await startParley({ engines: watchedEngines(() => watch), settings });
    books = new Operator({ origin: originOf(hasty), adminKey: hasty.adminKey });
    // All at once, as each takes a quarter of a minute to end.
    for (const wire of wireNames) reading.set(wire, await readSlowly(originOf(hasty), books, wire));
  });
  afterAll(async () => {
    await books.close();
    await hasty.close();
  });

  it.each(wireNames)('over %s counts as left: it pays for the sent output', async (wire) => {
    const read = reading.get(wire);
    if (read === undefined) throw new Error('nobody reads');
    await read.own.stopped;
    expectPaidFor(await books.booksOf(read.account, 1));
    read.slow.leave();
  });
});
