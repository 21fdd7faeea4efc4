/** Answers of every form reach the client, with their images, audio and legacy calls, and are paid as the upstream reports them. */
import { toJson } from '@bufbuild/protobuf';
import { afterAll, describe, expect, it } from 'vitest';
import { ChatService } from '../../../gen/parley/chat/v1/chat_service_pb.ts';
import { MessagesService } from '../../../gen/parley/messages/v1/messages_service_pb.ts';
import { ResponsesService } from '../../../gen/parley/responses/v1/responses_service_pb.ts';
import { Operator } from '../../conformance/books.ts';
import { type CaseRequest, calling } from '../../conformance/case.ts';
import { saying } from '../../conformance/chat-calls.ts';
import { openConnectJson } from '../../conformance/connect.ts';
import { openGrpc } from '../../conformance/grpc.ts';
import { openRest } from '../../conformance/rest.ts';
import { startBehind } from '../../support/behind-upstream.ts';
import { chunk, completion } from '../../support/chat-answers.ts';
import { type Answer, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { eventStream, events, json, whole } from '../../support/upstream-answers.ts';

const path = '/chat/completions';
const upstream = await startScriptedUpstream();
const parley = await startBehind(upstream.baseUrl);
const target = { origin: new URL(parley.baseUrl).origin, adminKey: parley.adminKey };
const operator = new Operator(target);
const clients = [openRest, openConnectJson, openGrpc].map((open) => open(target));
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await operator.close();
  await parley.close();
  await upstream.stop();
});

const bytes = Buffer.from(Array.from({ length: 300 }, (_, index) => (index * 7_919) % 251));
const base64 = bytes.toString('base64');
const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${base64}`, detail: 'auto' } };
const words = 'one two three';
const usage = { prompt_tokens: 9, completion_tokens: 700, total_tokens: 709 };

type Json = Record<string, unknown>;
type Kind = 'image' | 'audio' | 'words';

/** A message of a whole answer, the same as deltas, and what is in it. */
const forms: Readonly<Record<string, { message: Json; deltas: Json[]; has: readonly Kind[] }>> = {
  'images alone': {
    message: { content: null, images: [picture] },
    deltas: [{ content: '' }, { images: [picture] }],
    has: ['image'],
  },
  'a text and an image in a content of parts': {
    message: { content: [{ type: 'text', text: words }, picture] },
    deltas: [{ content: [{ type: 'text', text: words }, picture] }],
    has: ['words', 'image'],
  },
  'audio with its transcript': {
    message: { content: null, audio: { id: 'audio_1', data: base64, transcript: words, expires_at: 9e9 } },
    deltas: [
      { audio: { id: 'audio_1', transcript: 'one ' } },
      { audio: { transcript: 'two three' } },
      { audio: { data: bytes.subarray(0, 100).toString('base64') } },
      { audio: { data: bytes.subarray(100).toString('base64'), expires_at: 9e9 } },
    ],
    has: ['words', 'audio'],
  },
  'audio as a part': {
    message: { content: [{ type: 'input_audio', input_audio: { data: base64, format: 'wav' } }] },
    deltas: [{ content: [{ type: 'input_audio', input_audio: { data: base64, format: 'wav' } }] }],
    has: ['audio'],
  },
};

const streamOf = (deltas: readonly Json[], report: Json | undefined) =>
  events([
    ...deltas.map((delta) => chunk(delta)),
    chunk({}, { finish_reason: 'stop' }),
    ...(report ? [{ ...chunk({}), choices: [], usage: report }] : []),
  ]);
const wholeOf = (message: Json, report: Json | undefined) =>
  json(
    completion('', {
      choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
      usage: report,
    }),
  );

const model = 'served';
const params = { model, messages: saying('hello') };
const input = { value: { case: 'text' as const, value: 'hello' } };
const said = { role: 'user', content: { value: { case: 'text' as const, value: 'hello' } } };
const { createChatCompletion, streamChatCompletion } = ChatService.method;
const { createResponse, streamResponse } = ResponsesService.method;
const { createMessage, streamMessage } = MessagesService.method;
type Dialect = 'chat' | 'responses' | 'messages';
const calls: readonly (readonly [Dialect, boolean, CaseRequest])[] = [
  ['chat', false, calling(createChatCompletion, { params })],
  ['chat', true, calling(streamChatCompletion, { params })],
  ['responses', false, calling(createResponse, { params: { model, input } })],
  ['responses', true, calling(streamResponse, { params: { model, input } })],
  ['messages', false, calling(createMessage, { params: { model, maxTokens: 900, messages: [said] } })],
  ['messages', true, calling(streamMessage, { params: { model, maxTokens: 900, messages: [said] } })],
];

/** Calls over one wire with a new account. */
async function call(wire: string, { method, messages }: CaseRequest) {
  const client = clients.find(({ name }) => name === wire);
  if (client === undefined) throw new Error('no such wire');
  const account = await operator.open({ credits: '1' });
  const headers = { authorization: account.authorization ?? '' };
  const answer = await client.call({ method, requests: messages(account), headers });
  const { records, balance } = await operator.booksOf(account, 1);
  const [record] = records;
  return {
    error: answer.error,
    json: answer.messages.map((message) => toJson(method.output, message)),
    record,
    spent: 1e9 - balance,
  };
}

it.each(Object.entries(forms))(
  '%s: a client of /responses may send the items back',
  async (_, { message }) => {
    upstream.answer(path, wholeOf(message, usage));
    const first = await parley.postJson('/responses', { model, input: 'hello' });
    const { output } = (await first.json()) as { output: Json[] };
    const later = { role: 'user', content: 'go on' };
    const second = await parley.postJson('/responses', { model, input: [...output, later] });
    expect(second.status, await second.text()).toBe(200);
  },
);

/** The Base64 texts in an answer, in the order of their pieces. */
function mediaIn(value: unknown): string {
  if (typeof value === 'string') return value.length > 100 ? value.replace(/^data:[^,]*,/, '') : '';
  if (typeof value !== 'object' || value === null) return '';
  return Object.values(value).map(mediaIn).join('');
}

const bytesIn = (text: string) =>
  Buffer.concat(text.split(/(?<==)(?=[^=])/).map((part) => Buffer.from(part, 'base64')));

describe.each(clients.map(({ name }) => name))('over %s', (wire) => {
  describe.each(Object.entries(forms))('%s', (_, { message, deltas, has }) => {
    for (const [dialect, isStream, request] of calls) {
      for (const sends of ['JSON', 'events'] as const) {
        const answer = (report: Json | undefined) =>
          sends === 'JSON' ? wholeOf(message, report) : streamOf(deltas, report);

        it(`reaches ${dialect}, streamed: ${isStream}, from an upstream that sends ${sends}, and is paid`, async () => {
          upstream.answer(path, answer(usage));
          const { error, json: got, record, spent } = await call(wire, request);
          expect(error).toBeUndefined();
          expect(record).toMatchObject({ state: 'ok', prompt_tokens: 9, completion_tokens: 700 });
          expect(spent).toBe(709_000);
          const text = JSON.stringify(got);
          if (has.includes('words')) expect(text.replaceAll(/"[^"]*delta":"|\W/g, '')).toMatch(/one|two/);
          if (dialect === 'messages') expect(text).toContain('is left out');
          else if (dialect === 'chat' || !isStream) expect(bytesIn(mediaIn(got)).equals(bytes)).toBe(true);
          else expect(text).toContain(base64);
        });

        it(`is counted on ${dialect}, streamed: ${isStream}, from an upstream that sends ${sends} without a report`, async () => {
          upstream.answer(path, answer(undefined));
          const { record } = await call(wire, request);
          expect(record).toMatchObject({ state: 'ok', tokens_source: 'estimated' });
          expect(Number(record?.['completion_tokens'])).toBe(has.includes('words') ? 3 : 1);
        });
      }
    }
  });
});

describe.each(clients.map(({ name }) => name))(
  'a call of an upstream from before the tools, over %s',
  (wire) => {
    const called = { name: 'look', arguments: '{"at":1}' };
    const ends = { finish_reason: 'function_call' };
    it.each([false, true])(
      'is a call of a tool on responses and messages, streamed: %s',
      async (isStream) => {
        for (const [dialect, , request] of calls.filter(([, streams]) => streams === isStream)) {
          const message = { role: 'assistant', content: null, function_call: called };
          const deltas = [{ ...called, arguments: '' }, { arguments: '{"at"' }, { arguments: ':1}' }];
          upstream.answer(
            path,
            isStream
              ? events([...deltas.map((piece) => chunk({ function_call: piece })), chunk({}, ends)])
              : json(completion('', { choices: [{ index: 0, message, ...ends }] })),
          );
          const { json: got, record } = await call(wire, request);
          expect(record).toMatchObject({ state: 'ok' });
          const text = JSON.stringify(got);
          if (dialect === 'chat') expect(text).toContain('function_call');
          else if (dialect === 'responses') {
            expect(text).toMatch(/"call_id":"call_\w+"/);
            expect(text).toContain(JSON.stringify(called.arguments));
            expect(new Set(text.match(/"call_id":"\w+"/g)).size).toBe(1);
          } else
            expect(text).toMatch(
              isStream ? /"type":"tool_use".*input_json_delta.*tool_use/ : /"input":\{"at":1\}/,
            );
        }
      },
    );
  },
);

const said4 = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
const end = (more: Json = {}) => chunk({}, { finish_reason: 'stop' }, more);
const report = (tokens: unknown) => ({ ...chunk({}), choices: [], usage: tokens });
const inPieces = ['one ', 'two ', 'three'].map((content) => chunk({ content }));
const wholeText = completion(words);
const withBom = `\ufeff${JSON.stringify(wholeText)}`;
const fromOne = (parts: readonly Json[]) =>
  parts.map((part) => ({
    ...part,
    choices: (part['choices'] as Json[]).map((choice) => ({ ...choice, index: 1 })),
  }));
const legacy = (text: string, reason: string | null) => ({
  id: 'cmpl-1',
  choices: [{ index: 0, text, finish_reason: reason }],
});

describe.each<[string, Answer]>([
  [
    'repeats its report with zeros',
    events([
      ...inPieces,
      end({ usage: said4 }),
      report({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }),
    ]),
  ],
  [
    'reports its tokens as texts',
    events([...inPieces, end(), report({ prompt_tokens: '9', completion_tokens: '4' })]),
  ],
  [
    'reports its tokens under the names of another API',
    events([...inPieces, end(), report({ input_tokens: 9, output_tokens: 4 })]),
  ],
  [
    'reports a cached prompt apart from its input',
    events([...inPieces, end(), report({ input_tokens: 2, cache_read_input_tokens: 7, output_tokens: 4 })]),
  ],
  ['reports its tokens as Groq does', events([...inPieces, end({ x_groq: { usage: said4 } })])],
  ['counts its choices from 1', events([...fromOne([...inPieces, end()]), report(said4)])],
  ['sends legacy texts', events([legacy('one two ', null), legacy('three', 'stop'), report(said4)])],
  ['sends JSON with a byte order mark', whole(withBom, { headers: { 'content-type': 'application/json' } })],
  ['sends JSON as if it were events', whole(JSON.stringify(wholeText, null, 2), { headers: eventStream })],
])('an upstream that %s', (_, answer) => {
  it.each(clients.map(({ name }) => name))('is read and paid over %s', async (wire) => {
    for (const [dialect, isStream, request] of calls) {
      upstream.answer(path, answer);
      const { error, json: got, record, spent } = await call(wire, request);
      expect(error, `${dialect}, streamed: ${isStream}`).toBeUndefined();
      expect(record).toMatchObject({
        state: 'ok',
        tokens_source: 'reported',
        prompt_tokens: 9,
        completion_tokens: 4,
      });
      expect(spent).toBe(13_000);
      expect(JSON.stringify(got)).toMatch(/one .*two .*three/);
    }
  });
});
