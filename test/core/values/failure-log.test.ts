/** The log of failed requests: each appears once, with its id. */
import { spawnSync } from 'node:child_process';
import { create } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { ChatCompletionChunkSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { ChatService } from '../../../gen/parley/chat/v1/chat_service_pb.ts';
import { ParleyError } from '../../../src/core/values/errors.ts';
import { fakeChat, withFakes } from '../../support/fake-engines.ts';
import { startParley } from '../../support/parley.ts';

/** Log entries with an error: the request's id and the error. */
let told: { requestId?: string; err?: unknown }[] = [];
const keep = (fields: object) => {
  if ('err' in fields) told.push(fields);
};

/** The failure of the engine, and the number of parts before it. */
const engine = { failure: new Error(), parts: 0 };
const engines = withFakes({
  chat: fakeChat({
    complete: async () => {
      throw engine.failure;
    },
    stream: async function* () {
      for (let part = 0; part < engine.parts; part++) {
        yield create(ChatCompletionChunkSchema, { choices: [{ delta: { content: 'hi' } }] });
      }
      throw engine.failure;
    },
  }),
});

const parley = await startParley({ engines, log: { info: keep, warn: keep, error: keep } });
afterAll(() => parley.close());

beforeEach(() => {
  told = [];
});

const messages = [{ role: 'user', content: 'Hello there.' }];
async function overRest(stream: boolean): Promise<string | null> {
  const response = await parley.postJson('/chat/completions', { model: 'eliza', messages, stream });
  await response.text();
  return response.headers.get('x-request-id');
}

async function overRpc(transportOf: typeof createGrpcTransport | typeof createConnectTransport) {
  const transport = transportOf({ baseUrl: new URL(parley.baseUrl).origin, httpVersion: '2' });
  const content = { value: { case: 'text' as const, value: 'Hello there.' } };
  const params = { model: 'eliza', messages: [{ role: 'user', content }] };
  let id: string | null = null;
  const options = {
    headers: { authorization: `Bearer ${parley.apiKey}` },
    onHeader: (headers: Headers) => {
      id = headers.get('x-request-id');
    },
  };
  const answer = createClient(ChatService, transport).streamChatCompletion({ params }, options);
  const drained = async () => {
    for await (const _ of answer);
  };
  await expect(drained()).rejects.toThrow();
  return id;
}

const cause = new Error('what the log is for');
const failures = [
  [
    'an engine',
    new ParleyError('upstream_error', { cause: new Error('what the log is for', { cause: 'and no stack' }) }),
    { type: 'Error', message: 'what the log is for' },
  ],
  ['the server itself', cause, cause],
] as const;
const wires: readonly (readonly [string, () => Promise<string | null>])[] = [
  ['REST', () => overRest(false)],
  ['REST in events', () => overRest(true)],
  ['gRPC', () => overRpc(createGrpcTransport)],
  ['Connect', () => overRpc(createConnectTransport)],
];

describe.each(failures)('a failure of %s is logged once', (_, failure, err) => {
  describe.each(wires)('over %s', (_, send) => {
    it.each([
      ['before the answer', 0],
      ['in the middle of it', 2],
    ])('%s', async (_, parts) => {
      Object.assign(engine, { failure, parts });
      const requestId = await send();
      expect(told).toEqual([
        { requestId, account: parley.accountId, model: 'eliza', engine: 'builtin', err },
      ]);
    });
  });
});

it('a refusal is not logged', async () => {
  engine.failure = new ParleyError('invalid_parameter');
  for (const [, send] of wires) await send();
  expect(told).toEqual([]);
});

it('the log has the stack of an internal failure, and of no other', () => {
  const log = new URL('../../../src/app/log.ts', import.meta.url);
  const failureLog = new URL('../../../src/core/values/log.ts', import.meta.url);
  const errors = new URL('../../../src/core/values/errors.ts', import.meta.url);
  const script = `
    import { createLog } from '${log}';
    import { logFailure } from '${failureLog}';
    import { ParleyError } from '${errors}';
    for (const code of ['upstream_error', 'internal_error']) {
      const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
      logFailure(createLog('info'), { requestId: 'req_1' }, new ParleyError(code, { cause }));
    }`;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });
  const [upstream, own] = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).err);
  const told = { type: 'Error', message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' };
  expect(upstream).toEqual(told);
  expect(own).toEqual({ ...told, stack: expect.stringContaining(' at ') });
});
