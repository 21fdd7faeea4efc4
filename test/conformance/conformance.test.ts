/** One table of cases over every wire: each wire gives the same answer, error, usage record and ledger entries. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RivaSpeechRecognition } from '../../gen/nvidia/riva/asr/riva_asr_pb.ts';
import { RivaSpeechSynthesis } from '../../gen/nvidia/riva/tts/riva_tts_pb.ts';
import { AccountService } from '../../gen/parley/account/v1/account_service_pb.ts';
import { AdminService } from '../../gen/parley/admin/v1/admin_service_pb.ts';
import { AlertsService } from '../../gen/parley/alerts/v1/alerts_service_pb.ts';
import { TranscriptionService } from '../../gen/parley/audio/v1/transcription_service_pb.ts';
import { CatalogService } from '../../gen/parley/catalog/v1/catalog_service_pb.ts';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import { CompletionsService } from '../../gen/parley/completions/v1/completions_service_pb.ts';
import { ManagementService } from '../../gen/parley/management/v1/management_service_pb.ts';
import { MessagesService } from '../../gen/parley/messages/v1/messages_service_pb.ts';
import { ResponsesService } from '../../gen/parley/responses/v1/responses_service_pb.ts';
import { SpeechService } from '../../gen/parley/speech/v1/speech_service_pb.ts';
import { type ErrorCode, errorTable } from '../../src/core/values/errors.ts';
import { RawClient } from '../support/raw-http.ts';
import { testsPostgres } from '../support/store-folder.ts';
import { isFirstTier } from '../support/tier.ts';
import { answerOf } from './answer.ts';
import { Operator } from './books.ts';
import { type Case, calling, wireNames } from './case.ts';
import { type HttpClient, openHttp1 } from './http-client.ts';
import { type KeyHeader, type Observation, observe } from './observation.ts';
import { play } from './play.ts';
import { rawCases } from './raw-cases.ts';
import { type RunningTarget, startTarget, startTlsTarget } from './servers.ts';
import { missing, servers, table } from './table.ts';
import type { Method, WireAnswer, WireClient } from './wire.ts';
import { wires } from './wires.ts';

const services = [
  AccountService,
  AdminService,
  AlertsService,
  CatalogService,
  ChatService,
  CompletionsService,
  ManagementService,
  MessagesService,
  ResponsesService,
  RivaSpeechRecognition,
  RivaSpeechSynthesis,
  SpeechService,
  TranscriptionService,
];

describe.each(servers)('over every wire, with the %s server:', (name) => {
  runTable(
    () => startTarget(name),
    table.filter(({ server }) => server === name),
  );
});

// The rows above run on both databases, and these differ from them in the key's header and in TLS.
if (!testsPostgres) {
  describe('over every wire, with the key in x-api-key:', () => {
    const rows = table.filter(
      ({ server, caller }) => server === 'builtin' && (caller?.scopes || caller?.key),
    );
    // One case for each call: the key is read before the rest of the request.
    const calls = new Map(rows.map((row) => [row.request.method, row]));
    runTable(() => startTarget('builtin'), [...calls.values()], 'x-api-key');
  });

  describe('over every wire and TLS:', () => {
    const rows = table.filter(
      ({ server, timeoutMs, meanwhile }) => server === 'playing' && !timeoutMs && !meanwhile,
    );
    // One case for each call, and one for each code: messages are the same with and without TLS.
    const kinds = new Map(rows.map((row) => [row.error?.code ?? row.request.method, row]));
    runTable(() => startTlsTarget('playing'), [...kinds.values()]);
  });
}

function runTable(start: () => Promise<RunningTarget>, rows: readonly Case[], keyHeader?: KeyHeader): void {
  let target: RunningTarget;
  let operator: Operator;
  let clients: readonly WireClient[] = [];

  beforeAll(async () => {
    target = await start();
    operator = new Operator(target);
    clients = wires.map((open) => open(target));
  });
  afterAll(async () => {
    await Promise.all([...clients.map((client) => client.close()), operator.close()]);
    await target.close();
  });

  it.each(rows.map((row, index) => ({ ...row, index })))('$what', async ({ index, ...row }) => {
    const able = clients.filter((client) => !(row.notOn && client.name in row.notOn));
    const here = wiresOf(able, index);
    const seen = await Promise.all(
      here.map(async (client) => [client.name, await observe(row, client, operator, keyHeader)] as const),
    );
    const [first] = seen;
    if (first === undefined) throw new Error('the case runs nowhere');
    const [, measure] = first;
    expectAsStated(measure, row);
    const same = Object.fromEntries(here.map((client) => [client.name, measure]));
    expect(Object.fromEntries(seen)).toEqual(same);
  });
}

/** The wires that play a row. In the first tier two of them take turns, so that each plays a third of the rows. */
function wiresOf<Client>(able: readonly Client[], index: number): readonly Client[] {
  // The wires do not know which database there is.
  if (testsPostgres) return able.slice(0, 1);
  if (!isFirstTier) return able;
  const distance = Math.ceil(able.length / 2);
  const turns = new Set([index % able.length, (index + distance) % able.length]);
  return able.filter((_, position) => turns.has(position));
}

function expectAsStated(seen: Observation, row: Case): void {
  expect(seen.faults).toEqual([]);
  expect(seen.isReplay).toBe(row.records.some(({ state }) => state === 'replayed'));
  if (row.error === undefined) expect(seen.error).toBeUndefined();
  else {
    const { afterOutput, ...error } = row.error;
    expect(seen.error).toMatchObject(afterOutput ? { code: error.code } : error);
  }
  if (row.answer !== undefined) expect(seen.answer).toMatchObject(row.answer as object);
  expect(seen.records).toHaveLength(row.records.length);
  expect(seen.records).toMatchObject(row.records);
}

describe('on a single wire:', () => {
  let target: RunningTarget;
  let operator: Operator;
  let http: HttpClient;
  beforeAll(async () => {
    target = await startTarget('playing');
    operator = new Operator(target);
    http = openHttp1(target);
  });
  afterAll(async () => {
    await Promise.all([http.close(), operator.close()]);
    await target.close();
  });

  it.each(rawCases)('$what', async ({ path, contentType, body, status, code, records, ...row }) => {
    const account = await operator.open({});
    const headers = {
      authorization: account.authorization ?? '',
      'content-type': contentType,
      ...row.headers,
    };
    const answer = await http.send({ method: 'POST', path, headers, body });
    expect(answer.status).toBe(status);
    if (code !== undefined) {
      const told = JSON.parse(answer.body.toString()) as { code?: string; error?: { code: string } };
      expect(told.error?.code ?? told.code).toBe(code);
    }
    const books = await operator.booksOf(account, records.length);
    expect(books.records.map(({ state }) => state)).toEqual(records);
  });

  it.each(['Host: [', 'Host:', 'Host: a b'])(
    'Connect: a request to `%s` is refused, and affects no other',
    async (host) => {
      const raw = await RawClient.open(target.origin);
      await raw.write(
        `POST /parley.catalog.v1.CatalogService/ListModels HTTP/1.1\r\n${host}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`,
      );
      await expect.poll(() => raw.received).toMatch(/^HTTP\/1\.1 400 /);
      raw.close();
    },
  );

  it('a request that is repeated under its Idempotency-Key over another wire is charged once', async () => {
    const account = await operator.open({});
    const answers: WireAnswer[] = [];
    const say = calling(ChatService.method.createChatCompletion, {
      params: {
        model: 'eliza',
        messages: [{ role: 'user', content: { value: { case: 'text', value: play('say one') } } }],
      },
    });
    for (const open of wires) {
      const client = open(target);
      const headers = { authorization: account.authorization ?? '', 'idempotency-key': 'once' };
      answers.push(await client.call({ method: say.method, requests: say.messages(account), headers }));
      await client.close();
    }
    const { records, entries } = await operator.booksOf(account, wires.length);
    expect(records.map(({ state }) => state)).toEqual(['ok', ...wires.slice(1).map(() => 'replayed')]);
    expect(entries.filter(({ kind }) => kind === 'debit')).toHaveLength(1);
    expect(answers.map(({ isReplay }) => isReplay)).toEqual([false, ...wires.slice(1).map(() => true)]);
    const said = answers.map(({ messages }) => answerOf(say.method, messages));
    expect(said).toEqual(said.map(() => said[0]));
  });
});

describe('the table', () => {
  it('runs over every wire', () => {
    const clients = wires.map((open) => open({ origin: 'http://127.0.0.1:9', adminKey: '' }));
    expect(clients.map(({ name }) => name)).toEqual([...wireNames]);
  });

  it('contains every RPC', () => {
    const called = new Set(table.map(({ request }) => request.method));
    const all = services.flatMap(({ methods }) => methods);
    expect(all.filter((method) => !called.has(method as Method)).map(String)).toEqual([]);
  });

  /** Codes that no request to a server of the table can provoke. */
  const elsewhere: readonly string[] = [
    // Only HTTP bodies can be malformed: see below.
    'invalid_request_error',
    // Nobody reads this error. The records of deadlines have it.
    'request_cancelled',
    // No engine of the table has a filter: the test of an upstream's errors plays it.
    'content_filter',
    // No server of the table has a guard: its own test plays these on every wire.
    'guard_refused',
    'guard_unavailable',
  ];

  it('provokes every code', () => {
    const provoked = new Set(table.flatMap(({ error }) => (error ? [error.code] : [])));
    const codes = Object.keys(errorTable).filter((code) => !elsewhere.includes(code));
    expect(codes.filter((code) => !provoked.has(code as ErrorCode))).toEqual([]);
  });

  if (missing !== undefined) it.skip(`has rows of a real recogniser (${missing})`, () => undefined);
});
