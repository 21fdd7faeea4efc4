/** The operator's guard is asked before each chat, on every wire, and may only refuse. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { create, type Message } from '@bufbuild/protobuf';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ChatService } from '../../../gen/parley/chat/v1/chat_service_pb.ts';
import { CompletionsService } from '../../../gen/parley/completions/v1/completions_service_pb.ts';
import { MessagesService } from '../../../gen/parley/messages/v1/messages_service_pb.ts';
import { ResponsesService } from '../../../gen/parley/responses/v1/responses_service_pb.ts';
import { readPage } from '../../clients/page.ts';
import type { Method } from '../../conformance/wire.ts';
import { wires } from '../../conformance/wires.ts';
import { freePort, startHttp } from '../../support/http-server.ts';
import { errorOf, type Parley, startParley } from '../../support/parley.ts';
import { heldNothing, openTalk, responseRecords, Talk } from '../../support/talk.ts';

interface Asked {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The guard's answer: JSON with a status, or nothing. */
type Verdict = { readonly status?: number; readonly body?: unknown } | 'silence';

const allowed: Verdict = { body: { allow: true } };
const talk = new Talk();
let guard: Awaited<ReturnType<typeof startHttp>>;
let asked: Asked[] = [];
let verdict: Verdict = allowed;

beforeAll(async () => {
  guard = await startHttp(async (request, response) => {
    asked.push({ path: request.url, headers: request.headers, body: (await json(request)) as Asked['body'] });
    if (verdict === 'silence') return;
    const { status = 200, body } = verdict;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
});
afterAll(() => guard.close());
beforeEach(() => {
  talk.reset();
  asked = [];
  verdict = allowed;
});

const startGuarded = (more: object = {}) =>
  startParley({ engines: talk.engines(), settings: { guard: { url: `${guard.origin}/check`, ...more } } });

const chat = { model: 'eliza', messages: [{ role: 'user', content: 'My secret.' }] };
const prompt = { value: { case: 'text', value: 'My secret.' } } as const;
const chatParams = { model: 'eliza', messages: [{ role: 'user', content: prompt }] };
const methods: readonly (readonly [Method, Message])[] = [
  ...[ChatService.method.createChatCompletion, ChatService.method.streamChatCompletion].map(
    (method) => [method, create(method.input, { params: chatParams })] as const,
  ),
  ...[ResponsesService.method.createResponse, ResponsesService.method.streamResponse].map(
    (method) => [method, create(method.input, { params: { model: 'eliza', input: prompt } })] as const,
  ),
  ...[MessagesService.method.createMessage, MessagesService.method.streamMessage].map(
    (method) => [method, create(method.input, { params: { ...chatParams, maxTokens: 9 } })] as const,
  ),
  ...[CompletionsService.method.createCompletion, CompletionsService.method.streamCompletion].map(
    (method) => [method, create(method.input, { params: { model: 'eliza', prompt } })] as const,
  ),
];

const newest = (parley: Parley) =>
  parley.app.store.usage.list({}, { size: 1, after: undefined }).then(({ items }) => items[0]);

describe('a guard', () => {
  let parley: Parley;
  beforeAll(async () => {
    parley = await startGuarded();
  });
  afterAll(() => parley.close());

  it('sees key, account, model and messages, and cannot change them', async () => {
    verdict = { body: { allow: true, messages: [{ role: 'user', content: 'other' }], model: 'other' } };
    const answer = await parley.postJson('/chat/completions', { ...chat, stream: true });
    expect(await answer.text()).toContain('Yes.');
    expect(talk.lastPrompt).toEqual(['user: My secret.']);
    expect(asked).toMatchObject([
      {
        path: '/check',
        body: {
          request_id: answer.headers.get('x-request-id'),
          account: { id: parley.accountId, name: 'account-1' },
          key: { id: expect.stringMatching(/^key_/), name: 'account-1' },
          model: 'eliza',
          messages: chat.messages,
        },
      },
    ]);
    expect(Object.keys(asked[0]?.body ?? {}).sort()).toEqual([
      'account',
      'key',
      'messages',
      'model',
      'request_id',
    ]);
  });

  it.each(wires.map((open) => [open({ origin: 'http://127.0.0.1:9', adminKey: '' }).name, open] as const))(
    'refuses chats, responses, messages and completions over %s with its reason, before a hold',
    async (_, open) => {
      verdict = { body: { allow: false, reason: 'No secrets, please.' } };
      const client = open({ origin: new URL(parley.baseUrl).origin, adminKey: parley.adminKey });
      const before = (await parley.books()).accounts;
      for (const [method, request] of methods) {
        const headers = { authorization: `Bearer ${parley.apiKey}` };
        const { error, messages } = await client.call({ method, requests: [request], headers });
        expect([method.name, error?.code, error?.message, messages]).toEqual([
          method.name,
          'guard_refused',
          expect.stringContaining('No secrets, please.'),
          [],
        ]);
        expect(await newest(parley)).toMatchObject({
          operation: 'chat',
          model: 'eliza',
          state: 'refused',
          code: 'guard_refused',
          tokens: undefined,
        });
      }
      await client.close();
      expect(asked.map(({ body }) => body['messages'])).toEqual(methods.map(() => chat.messages));
      expect(talk.chats).toEqual([]);
      expect((await parley.books()).accounts).toEqual(before);
    },
  );

  it('refuses the chat of a conversation, which goes on', async () => {
    verdict = { body: { allow: false, reason: 'No secrets, please.' } };
    const client = await openTalk(parley);
    client.say('My secret.');
    client.send({ type: 'response.create' });
    expect(await client.done()).toMatchObject({
      status: 'failed',
      status_details: { error: { code: 'guard_refused' } },
    });
    expect(await responseRecords(parley, 1)).toMatchObject([
      { operation: 'chat', state: 'refused', code: 'guard_refused' },
    ]);
    verdict = allowed;
    client.send({ type: 'response.create' });
    expect(await client.done(2)).toMatchObject({ status: 'completed' });
    client.socket.close();
    await heldNothing(parley);
  });

  it('is not asked about speech, nor about a chat that is refused before it', async () => {
    await (await parley.postJson('/audio/speech', { model: 'flite', input: 'Hello.' })).arrayBuffer();
    const unknown = await parley.postJson('/chat/completions', { ...chat, model: 'nobody' });
    expect(await errorOf(unknown)).toMatchObject({ code: 'unknown_model' });
    expect(asked).toEqual([]);
  });

  it('shortens a long reason, and has words of its own without one', async () => {
    verdict = { body: { allow: false, reason: 'x'.repeat(1_000) } };
    const long = await errorOf(await parley.postJson('/chat/completions', chat));
    expect(long).toMatchObject({ status: 400, message: expect.stringMatching(/^x{500}(?!x)/) });
    verdict = { body: { allow: false, reason: 7 } };
    const none = await errorOf(await parley.postJson('/chat/completions', chat));
    expect(none).toMatchObject({
      status: 400,
      code: 'guard_refused',
      message: expect.stringContaining('operator'),
    });
  });

  it.each([
    ['another status', { status: 500, body: { allow: true } }],
    ['a redirect', { status: 302, body: { allow: true } }],
    ['no decision', { body: { allow: 'yes' } }],
    ['another kind of JSON', { body: [true] }],
    ['a long answer', { body: { allow: true, reason: 'x'.repeat(70_000) } }],
  ] as const)('refuses with 503 if it answers with %s', async (_, answer) => {
    verdict = answer;
    expect(await errorOf(await parley.postJson('/chat/completions', chat))).toMatchObject({
      status: 503,
      code: 'guard_unavailable',
    });
    expect(await newest(parley)).toMatchObject({ state: 'failed', code: 'guard_unavailable' });
    expect(talk.chats).toEqual([]);
    await heldNothing(parley);
  });
});

it('gets the key of its file, and is left when the client leaves', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-guard-'));
  writeFileSync(join(folder, 'key'), 'guard-key\n');
  const parley = await startGuarded({ totalMs: 60_000, apiKeyFile: join(folder, 'key') });
  rmSync(folder, { recursive: true });
  verdict = 'silence';
  const leave = new AbortController();
  const left = parley.postJson('/chat/completions', chat, { signal: leave.signal }).catch(() => undefined);
  await expect.poll(() => asked.length).toBe(1);
  expect(asked[0]?.headers.authorization).toBe('Bearer guard-key');
  leave.abort();
  await left;
  await expect.poll(async () => (await newest(parley))?.state).toBe('cancelled');
  await heldNothing(parley);
  await parley.close();
});

it.each([
  ['closed', 503],
  ['open', 200],
] as const)('answers with `failure: %s` in time if it is silent or gone: %i', async (failure, status) => {
  verdict = 'silence';
  const slow = await startGuarded({ failure, totalMs: 50 });
  const answer = await slow.postJson('/chat/completions', { ...chat, stream: true });
  expect(answer.status).toBe(status);
  await answer.text();
  await slow.close();
  const gone = await startGuarded({ failure, url: `http://127.0.0.1:${await freePort()}/` });
  const other = await gone.postJson('/chat/completions', { ...chat, stream: true });
  expect(other.status).toBe(status);
  await other.text();
  await gone.close();
});

it('works with the program of its page', async () => {
  const port = await freePort();
  const program = spawn(
    process.execPath,
    ['--input-type=module', '--eval', readPage('../guard').file('guard.mjs')],
    { env: { PORT: String(port) }, stdio: 'inherit' },
  );
  const url = `http://127.0.0.1:${port}/check`;
  const ask = () => fetch(url, { method: 'POST', body: JSON.stringify({ messages: [] }) });
  await expect.poll(() => ask().then(({ status }) => status, String)).toBe(200);
  const parley = await startGuarded({ url });
  const refused = await parley.postJson('/chat/completions', {
    ...chat,
    messages: [{ role: 'user', content: 'a secret' }],
  });
  expect(await errorOf(refused)).toMatchObject({
    code: 'guard_refused',
    message: expect.stringContaining('No secrets'),
  });
  const hello = { ...chat, stream: true, messages: [{ role: 'user', content: 'Hello.' }] };
  expect((await parley.postJson('/chat/completions', hello)).status).toBe(200);
  await parley.close();
  program.kill();
  await once(program, 'exit');
});

it('is not called by default', async () => {
  const parley = await startParley({ engines: talk.engines() });
  expect((await parley.postJson('/chat/completions', { ...chat, stream: true })).status).toBe(200);
  expect(asked).toEqual([]);
  await parley.close();
});
