/** The outcomes of requests: one table for every operation, over real sockets. */

import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ChatCompletionChunkSchema, ChatCompletionSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { ParleyError } from '../../../src/core/values/errors.ts';
import { cost, parseCredits } from '../../../src/core/values/money.ts';
import type { Signal } from '../../../src/core/values/signal.ts';
import { fakeChat, fakeSpeech, fakeTranscription, withFakes } from '../../support/fake-engines.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import { RawClient } from '../../support/raw-http.ts';

/** For events that take a moment, on a machine that may be busy. */
const soon = { timeout: 120_000 };

const operations = ['chat', 'chat streamed', 'speech', 'transcription', 'transcription streamed'] as const;
type Operation = (typeof operations)[number];

/** A step of the engine. At `wait` it works until it is stopped; `flood` is endless output. */
type Step = 'role' | 'reasoning' | 'output' | 'hour' | 'flood' | 'finish' | 'wait' | Error;
type Client = 'reads' | 'leaves' | 'leaves while it uploads' | 'reads nothing';
type Request = 'good' | 'wrong' | 'large';

type Got =
  | { readonly kind: 'answer' | 'cut' | 'nothing' }
  | {
      readonly kind: 'error';
      readonly status: number;
      readonly code: string;
      readonly retryAfter: string | null;
    }
  | { readonly kind: 'error event'; readonly code: string };

interface Outcome {
  readonly gets: Got;
  /** Undefined: no record. */
  readonly record:
    | { readonly state: string; readonly http_status: number; readonly code: string | undefined }
    | undefined;
  /** For chat its tokens in credits. For speech and transcription the units of the whole input. */
  readonly pays: boolean;
}

interface Row {
  readonly what: string;
  readonly engine: readonly Step[];
  readonly client?: Client;
  readonly request?: Request;
  readonly key?: (operation: Operation) => Promise<string>;
  /** Milliseconds that the server gives a request. Default: enough. */
  readonly limitMs?: number;
  readonly outcome: Partial<Record<Operation, Outcome>>;
}

const all = (outcome: Outcome): Record<Operation, Outcome> => ({
  chat: outcome,
  'chat streamed': outcome,
  speech: outcome,
  transcription: outcome,
  'transcription streamed': outcome,
});
const error = (status: number, code: string, retryAfter?: number): Got => ({
  kind: 'error',
  status,
  code,
  retryAfter: retryAfter === undefined ? null : String(retryAfter),
});
const answered: Outcome = {
  gets: { kind: 'answer' },
  record: { state: 'ok', http_status: 200, code: undefined },
  pays: true,
};
/** Ends whole, after a part of the answer. */
const cutShort: Outcome = {
  ...answered,
  record: { state: 'ok', http_status: 200, code: 'deadline_exceeded' },
};
const refused = (status: number, code: string): Outcome => ({
  gets: error(status, code),
  record: { state: 'refused', http_status: status, code },
  pays: false,
});
/** Refused after some output, which the client pays for. */
const refusedLate = (status: number, code: string): Outcome => ({
  ...refused(status, code),
  gets: { kind: 'error event', code },
  pays: true,
});
const failed = (status: number, code: string, retryAfter?: number): Outcome => ({
  gets: error(status, code, retryAfter),
  record: { state: 'failed', http_status: status, code },
  pays: false,
});
const brokenOff = (status: number, code: string) => ({
  'chat streamed': { ...failed(status, code), gets: { kind: 'error event', code } as const },
  speech: { ...failed(status, code), gets: { kind: 'cut' } as const },
  'transcription streamed': { ...failed(status, code), gets: { kind: 'error event', code } as const },
});
const left = (pays: boolean): Outcome => ({
  gets: { kind: 'nothing' },
  record: { state: 'cancelled', http_status: 499, code: 'request_cancelled' },
  pays,
});

const limitMs = 400;
let parley: Parley;
const keyOf = { plan: () => parley.newKey({ trial: true, credits: '10' }), none: () => parley.newKey() };
const keyWithout = (operation: Operation) => {
  const scopes = ['chat', 'speech', 'transcription'].filter((scope) => !operation.startsWith(scope));
  return parley.newKey({ trial: true, credits: '10', scopes });
};
const upstream = (httpStatus: number) =>
  new ParleyError('upstream_error', { httpStatus, retryAfterSeconds: 7 });

const table: Row[] = [
  { what: 'success', engine: ['role', 'reasoning', 'output', 'finish'], outcome: all(answered) },
  {
    what: 'no valid key',
    engine: [],
    key: async () => `pk_${'0'.repeat(57)}`,
    outcome: all({ ...refused(401, 'invalid_api_key'), record: undefined }),
  },
  {
    what: 'refused: the key is for other operations',
    engine: [],
    key: keyWithout,
    outcome: all(refused(403, 'insufficient_scope')),
  },
  {
    what: 'refused: a field is wrong',
    engine: [],
    request: 'wrong',
    outcome: {
      ...all(refused(400, 'unknown_model')),
      transcription: refused(400, 'invalid_file'),
      'transcription streamed': refused(400, 'invalid_file'),
    },
  },
  {
    what: 'refused: neither plan nor credits',
    engine: [],
    key: keyOf.none,
    outcome: {
      ...all(refused(402, 'subscription_required')),
      chat: refused(402, 'insufficient_credits'),
      'chat streamed': refused(402, 'insufficient_credits'),
    },
  },
  {
    what: 'refused: more than the month allows',
    engine: ['hour', 'output', 'finish'],
    request: 'large',
    outcome: {
      speech: refused(402, 'fair_use_limit_reached'),
      transcription: refused(402, 'fair_use_limit_reached'),
      'transcription streamed': refused(402, 'fair_use_limit_reached'),
    },
  },
  {
    what: 'refused after some output: more than the month allows',
    engine: ['output', 'hour', 'finish'],
    outcome: {
      transcription: refused(402, 'fair_use_limit_reached'),
      'transcription streamed': refusedLate(402, 'fair_use_limit_reached'),
    },
  },
  {
    what: 'refused after some output: the file breaks off',
    engine: ['output', new ParleyError('invalid_file')],
    outcome: {
      transcription: refused(400, 'invalid_file'),
      'transcription streamed': refusedLate(400, 'invalid_file'),
    },
  },
  {
    what: 'a chat that its engine refuses after some output',
    engine: ['output', new ParleyError('input_too_long')],
    outcome: {
      'chat streamed': {
        ...refused(400, 'input_too_long'),
        gets: { kind: 'error event', code: 'input_too_long' },
      },
    },
  },
  {
    what: 'the upstream refuses, before the first byte',
    engine: [upstream(429)],
    outcome: all(failed(429, 'upstream_error', 7)),
  },
  {
    what: 'the upstream’s own 401, which must not look like ours',
    engine: [upstream(401)],
    outcome: all(failed(401, 'upstream_error', 7)),
  },
  {
    what: 'the upstream cannot be reached',
    engine: [new ParleyError('upstream_error')],
    outcome: all(failed(502, 'upstream_error')),
  },
  {
    what: 'the queue is full',
    engine: [new ParleyError('overloaded', { retryAfterSeconds: 5 })],
    outcome: all(failed(503, 'overloaded', 5)),
  },
  {
    what: 'an error of the server itself',
    engine: [new Error('a secret')],
    outcome: all(failed(500, 'internal_error')),
  },
  {
    what: 'a failure after the first byte',
    engine: ['role', 'output', new ParleyError('upstream_error')],
    outcome: { ...all(failed(502, 'upstream_error')), ...brokenOff(502, 'upstream_error') },
  },
  {
    what: 'an error of the server itself after the first byte',
    engine: ['output', new Error('a secret')],
    outcome: { ...all(failed(500, 'internal_error')), ...brokenOff(500, 'internal_error') },
  },
  {
    what: 'the upstream ends without a finish reason',
    engine: ['role', 'output'],
    outcome: {
      chat: failed(502, 'upstream_error'),
      'chat streamed': brokenOff(502, 'upstream_error')['chat streamed'],
      transcription: failed(502, 'upstream_error'),
      'transcription streamed': brokenOff(502, 'upstream_error')['transcription streamed'],
    },
  },
  { what: 'the upstream ends with nothing', engine: [], outcome: all(failed(502, 'upstream_error')) },
  {
    what: 'the client leaves while it uploads',
    engine: [],
    client: 'leaves while it uploads',
    outcome: all(left(false)),
  },
  {
    what: 'the client leaves before any output',
    engine: ['wait'],
    client: 'leaves',
    outcome: all(left(false)),
  },
  {
    what: 'the client leaves after a role and nothing else',
    engine: ['role', 'wait'],
    client: 'leaves',
    outcome: { 'chat streamed': left(false) },
  },
  {
    what: 'the client leaves after some output: a plain answer has sent none',
    engine: ['role', 'output', 'wait'],
    client: 'leaves',
    outcome: {
      ...all(left(false)),
      'chat streamed': left(true),
      speech: left(true),
      'transcription streamed': left(true),
    },
  },
  {
    what: 'the client leaves after reasoning and nothing else',
    engine: ['role', 'reasoning', 'wait'],
    client: 'leaves',
    outcome: { 'chat streamed': left(true) },
  },
  {
    what: 'the time is up before any output',
    engine: ['wait'],
    limitMs,
    outcome: all(failed(503, 'overloaded', 10)),
  },
  {
    what: 'the time is up after some output',
    engine: ['role', 'output', 'wait'],
    limitMs,
    outcome: {
      ...all(failed(503, 'overloaded', 10)),
      ...brokenOff(503, 'overloaded'),
      'chat streamed': cutShort,
    },
  },
  {
    what: 'the time is up, and the client has not read the sent data',
    engine: ['flood'],
    client: 'reads nothing',
    limitMs,
    outcome: { 'chat streamed': left(true), speech: left(true) },
  },
];

/** A run of the engine. */
class Run {
  readonly steps: readonly Step[];
  readonly isWaiting = Promise.withResolvers<void>();
  /** The number of times that the engine started, and that it ended in any way. */
  started = 0;
  ended = 0;

  constructor(steps: readonly Step[]) {
    this.steps = steps;
  }

  async *play(signal: Signal): AsyncGenerator<Exclude<Step, Error | 'wait' | 'flood'>> {
    this.started++;
    try {
      for (const step of this.steps) {
        if (step instanceof Error) throw step;
        if (step === 'wait') await this.#wait(signal);
        else if (step === 'flood') while (!signal.aborted) yield 'output';
        else yield step;
      }
    } finally {
      this.ended++;
    }
  }

  #wait(signal: Signal): Promise<never> {
    this.isWaiting.resolve();
    return new Promise((_, reject) => {
      const stop = () => reject(signal.reason);
      if (signal.aborted) stop();
      signal.addEventListener('abort', stop, { once: true });
    });
  }
}

const output = 'one two three';
const reasoning = ' four five';
const usage = { promptTokens: 7, completionTokens: 3, totalTokens: 10 };
/** Large chunks, so that a flood fills every buffer. */
const padding = 'x'.repeat(65_536);
let run = new Run([]);

const deltas = {
  role: { role: 'assistant' },
  reasoning: { other: { reasoning_content: reasoning } },
  output: { content: output },
  hour: {},
  finish: {},
};
const engines = withFakes({
  chat: fakeChat({
    complete: async (_, signal) => {
      const steps = await collect(run.play(signal));
      const message = {
        role: 'assistant',
        ...(steps.includes('output') && { content: { value: { case: 'text', value: output } as const } }),
      };
      const finish = steps.includes('finish') && { finishReason: 'stop' };
      const choices = steps.length === 0 ? [] : [{ message, ...finish }];
      return create(ChatCompletionSchema, { choices, ...(finish && { usage }) });
    },
    stream: async function* (_, signal) {
      for await (const step of run.play(signal)) {
        const choice = { delta: deltas[step], ...(step === 'finish' && { finishReason: 'stop' }) };
        const flood = run.steps.includes('flood') && { other: { padding } };
        const report = step === 'finish' && { usage };
        yield create(ChatCompletionChunkSchema, { id: 'c', choices: [choice], ...report, ...flood });
      }
    },
  }),
  speech: fakeSpeech({
    synthesize: (_, signal) => ({
      audio: (async function* () {
        for await (const step of run.play(signal)) if (step === 'output') yield Buffer.alloc(65_536, 1);
      })(),
      durationMs: () => 1500,
    }),
  }),
  transcription: fakeTranscription({
    transcribe: async function* ({ signal }) {
      const segment = { startMs: 0, endMs: 1500, text: output, words: [], avgLogprob: undefined };
      for await (const step of run.play(signal)) {
        if (step === 'hour') yield { kind: 'audio', durationMs: 3_600_000 };
        if (step === 'output') yield { kind: 'audio', durationMs: 1200 };
        if (step === 'output') yield { kind: 'segment', segment };
        if (step === 'finish') yield { kind: 'done', durationMs: 1500, language: 'english' };
      }
    },
  }),
});

const paths: Record<Operation, string> = {
  chat: '/chat/completions',
  'chat streamed': '/chat/completions',
  speech: '/audio/speech',
  transcription: '/audio/transcriptions',
  'transcription streamed': '/audio/transcriptions',
};

function bodyOf(operation: Operation, request: Request): string | FormData {
  if (operation.startsWith('transcription')) {
    const form = new FormData();
    form.append('file', new Blob([request === 'wrong' ? '' : 'some audio']), 'a.wav');
    if (operation === 'transcription streamed') form.append('stream', 'true');
    return form;
  }
  if (operation === 'speech') {
    const input = request === 'large' ? 'a'.repeat(1001) : 'Hello there.';
    return JSON.stringify({ model: request === 'wrong' ? 'nope' : 'flite', input });
  }
  return JSON.stringify({
    model: request === 'wrong' ? 'nope' : 'eliza',
    messages: [{ role: 'user', content: 'Hello there.' }],
    ...(operation === 'chat streamed' && { stream: true }),
  });
}

async function collect<T>(parts: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const part of parts) collected.push(part);
  return collected;
}

/** The response as a client gets it that reads to the end. */
async function receive(response: Response): Promise<Got> {
  if (response.status !== 200) {
    const { error: body } = (await response.json()) as { error: { code: string; type: string } };
    expect(JSON.stringify(body)).not.toContain('secret');
    expect(response.headers.has('www-authenticate')).toBe(body.code === 'invalid_api_key');
    expect(body.type === 'authentication_error').toBe(body.code === 'invalid_api_key');
    if (body.code === 'internal_error') expect(body.type).toBe('server_error');
    return error(response.status, body.code, Number(response.headers.get('retry-after')) || undefined);
  }
  const text = await response.text().catch(() => undefined);
  if (text === undefined) return { kind: 'cut' };
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
  if (!isStream || /data: (\[DONE\]|\{"type":"transcript\.text\.done".*)\n\n$/.test(text))
    return { kind: 'answer' };
  const last = text.trimEnd().split('\n\n').at(-1)?.replace('data: ', '') ?? '';
  return { kind: 'error event', code: (JSON.parse(last) as { error: { code: string } }).error.code };
}

type Json = Record<string, unknown>;

/** Runs the client of a request. Resolves to its result. */
async function go(operation: Operation, { client = 'reads', request = 'good' }: Row, key: string) {
  const headers = { authorization: `Bearer ${key}` };
  const body = bodyOf(operation, request);
  const url = parley.baseUrl + paths[operation];
  if (client === 'reads') return receive(await fetch(url, { method: 'POST', headers, body }));
  if (client === 'leaves') {
    await leave(url, { method: 'POST', headers, body });
  } else {
    const raw = await RawClient.open(url);
    if (client === 'reads nothing') raw.socket.pause();
    const length = client === 'reads nothing' ? String(body).length : 10_000;
    const type = operation.startsWith('transcription')
      ? 'content-type: multipart/form-data; boundary=b\r\n'
      : '';
    const head = `POST ${new URL(url).pathname} HTTP/1.1\r\nhost: x\r\nauthorization: ${headers.authorization}\r\n`;
    await raw.write(`${head}${type}content-length: ${length}\r\n\r\n${type ? '--b\r\n' : body}`);
    // The server must end an unread answer. The other client disappears in the middle of its body.
    if (client === 'reads nothing') await expect.poll(() => run.ended, soon).toBe(1);
    else await new Promise((resolve) => setTimeout(resolve, 50));
    raw.close();
  }
  return { kind: 'nothing' };
}

/** Leaves when the engine is at its `wait` and all earlier output has arrived. */
async function leave(url: string, init: RequestInit): Promise<void> {
  const abort = new AbortController();
  const answer = fetch(url, { ...init, signal: abort.signal }).then(
    (response) => response.body?.getReader().read(),
    () => undefined,
  );
  await run.isWaiting.promise;
  const isStreamed =
    init.body instanceof FormData
      ? init.body.has('stream')
      : url.endsWith('speech') || String(init.body).includes('"stream":true');
  if (isStreamed && run.steps[0] !== 'wait') await answer;
  abort.abort();
  await answer.catch(() => undefined);
}

/** The state after the request, by the RPCs of client and operator: usage record, ledger, holds and units. */
async function lookUp(key: string) {
  const get = async (path: string, as: string) =>
    (await (
      await fetch(parley.baseUrl + path, { headers: { authorization: `Bearer ${as}` } })
    ).json()) as Json;
  const account = await get('/account', key);
  const { records } = (await get('/usage', key)) as { records: Json[] };
  const { entries } = (await get(`/admin/accounts/${account['id']}/ledger`, parley.adminKey)) as {
    entries: Json[];
  };
  const record = records.find(({ operation }) => operation !== 'account');
  return { account, record, debits: entries.filter(({ kind }) => kind === 'debit') };
}

const price = { inputPerMillion: parseCredits('0.1'), outputPerMillion: parseCredits('0.4') };

function checkCredits(record: Json, debits: Json[], operation: Operation, { pays }: Outcome): bigint {
  if (!pays || !operation.startsWith('chat')) {
    expect(record).not.toHaveProperty('cost_nano_credits');
    expect(debits).toEqual([]);
    return 0n;
  }
  const isWhole = record['state'] === 'ok' && record['code'] === undefined;
  const promptTokens = Number(record['prompt_tokens']);
  const completionTokens = Number(record['completion_tokens']);
  expect(record['tokens_source']).toBe(isWhole ? 'reported' : 'estimated');
  expect(promptTokens).toBeGreaterThan(1);
  if (!run.steps.includes('flood')) {
    const isReasoning = run.steps.includes('reasoning') && !isWhole;
    expect(completionTokens).toBe(isReasoning ? 2 : 3);
  }
  const debited = cost(price, { promptTokens, completionTokens });
  expect(record['cost_nano_credits']).toBe(Number(debited));
  expect(debits).toMatchObject([{ amount_nano_credits: -Number(debited), reference: record['id'] }]);
  return debited;
}

function checkUnits(record: Json, operation: Operation, { pays }: Outcome): number {
  const isTranscribed = operation.startsWith('transcription');
  const units = isTranscribed ? 30 : operation === 'speech' ? 12 : 0;
  expect(record['fair_use_units'] ?? 0).toBe(pays ? units : 0);
  return pays ? units : 0;
}

describe.each([
  ['with time enough', (row: Row) => row.limitMs === undefined, 600_000] as const,
  ['with little time', (row: Row) => row.limitMs !== undefined, limitMs] as const,
])('the outcome of a request %s:', (_, isHere, requestMsMax) => {
  beforeAll(async () => {
    const fairUse = { trialUnitsPerMonth: 1000 };
    parley = await startParley({ engines, settings: { server: { requestMsMax }, fairUse } });
  });
  afterAll(() => parley.close());
  beforeEach(() => {
    run = new Run([]);
  });

  const cells = table.filter(isHere).flatMap((row) =>
    operations.flatMap((operation) => {
      const outcome = row.outcome[operation];
      return outcome ? [{ row, operation, outcome }] : [];
    }),
  );

  it.each(cells)('$row.what ($operation)', async ({ row, operation, outcome }) => {
    run = new Run(row.engine);
    const key = await (row.key ?? keyOf.plan)(operation);
    expect(await go(operation, row, key)).toEqual(outcome.gets);
    if (outcome.record === undefined) {
      const { items } = await parley.app.store.usage.list(
        { state: 'refused' },
        { size: 100, after: undefined },
      );
      expect(items.filter(({ httpStatus }) => httpStatus === 401)).toEqual([]);
      return;
    }
    // The record is written before an answer ends, but the server notices a moment later that a client left.
    const stateOf = async () => (await lookUp(key)).record?.['state'];
    await expect.poll(stateOf, soon).toBe(outcome.record.state);
    const { account, record = {}, debits } = await lookUp(key);
    expect({ ...record, code: record['code'] }).toMatchObject(outcome.record);
    if (outcome.record.state === 'cancelled') expect('first_output_ms' in record).toBe(outcome.pays);
    const debited = checkCredits(record, debits, operation, outcome);
    const loaded = row.key === keyOf.none ? 0n : 10_000_000_000n;
    const used_units = checkUnits(record, operation, outcome);
    expect(account).toMatchObject({
      balance_nano_credits: Number(loaded - debited),
      held_nano_credits: 0,
      fair_use: { used_units },
    });
    expect(run.ended, 'the engine is stopped').toBe(run.started);
  });
});
