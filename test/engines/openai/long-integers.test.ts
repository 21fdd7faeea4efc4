/** Integers that a double would round keep their digits from a REST client to the upstream and back. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { afterAll, describe, expect, it } from 'vitest';
import { ChatService } from '../../../gen/parley/chat/v1/chat_service_pb.ts';
import { startBehind } from '../../support/behind-upstream.ts';
import { errorOf, type Parley } from '../../support/parley.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { eventText, whole } from '../../support/upstream-answers.ts';

const path = '/chat/completions';
const digits = '9007199254740993';
const asDouble = 9007199254740992;
const upstream = await startScriptedUpstream();
const parley = await startBehind(upstream.baseUrl);
const front = await startInFront(parley);
afterAll(async () => {
  await front.close();
  await parley.close();
  await upstream.stop();
});

/** A Parley whose model is served by another Parley. */
async function startInFront({ baseUrl, apiKey }: Parley): Promise<Parley> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-front-'));
  const apiKeyFile = join(folder, 'key');
  writeFileSync(apiKeyFile, apiKey);
  const engine = { kind: 'remote', apiKeyFile, models: {} };
  const started = await startBehind(baseUrl, { engine });
  rmSync(folder, { recursive: true });
  return started;
}

/** The text of a client's request, with numbers that JavaScript could not represent. */
function requestWith(members: string): string {
  const at = `{"role":"user","content":"say hello","sent_ns":${digits}}`;
  return `{"model":"served","messages":[${at}],${members}}`;
}

const post = (to: Parley, body: string, headers: Record<string, string> = {}) =>
  to.call(path, { method: 'POST', body, headers });
const received = () => upstream.requests.at(-1)?.body.toString() ?? '';

const head = `"id":"c","created":1,"model":"m","took_ns":${digits},"x":[{"y":-${digits}}]`;
const completion = `{${head},"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi","score":${digits}},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`;
const chunk = (delta: string, finish: string) =>
  `data: {${head},"object":"chat.completion.chunk","choices":[{"index":0,"delta":${delta},"finish_reason":${finish}}]}\n\n`;
const answerWhole = () =>
  upstream.answer(path, whole(completion, { headers: { 'content-type': 'application/json' } }));
const count = (text: string) => text.split(digits).length - 1;

describe('an integer beyond 2^53', () => {
  it('reaches the upstream with its digits, wherever it is', async () => {
    answerWhole();
    await post(
      parley,
      requestWith(`"seed":${digits},"other":{"a":[1,-${digits}]},"logit_bias":{"1":${digits}}`),
    );
    expect(count(received())).toBe(4);
    expect(received()).toContain(`"seed":${digits}`);
  });

  it('reaches the client with its digits, plain and streamed', async () => {
    answerWhole();
    const text = await (await post(parley, requestWith('"seed":1'))).text();
    expect(count(text)).toBe(3);
    expect(text).toContain(`"took_ns":${digits},"x":[{"y":-${digits}}]`);
    upstream.answer(
      path,
      eventText([chunk('{"content":"hi"}', 'null'), chunk('{}', '"stop"'), 'data: [DONE]\n\n']),
    );
    const streamed = await (await post(parley, requestWith('"stream":true'))).text();
    expect(count(streamed)).toBe(4);
  });

  it('is a double for a client of the schema', async () => {
    answerWhole();
    const transport = createGrpcTransport({ baseUrl: new URL(parley.baseUrl).origin });
    const headers = { authorization: `Bearer ${parley.apiKey}` };
    const content = { value: { case: 'text' as const, value: 'say hello' } };
    const params = { model: 'served', messages: [{ role: 'user', content }], seed: asDouble };
    const { completion: answer } = await createClient(ChatService, transport).createChatCompletion(
      { params },
      { headers },
    );
    expect(answer?.other).toEqual({ took_ns: asDouble, x: [{ y: -asDouble }] });
  });

  it('keeps its digits on the way through another Parley, both ways', async () => {
    answerWhole();
    const response = await post(front, requestWith(`"seed":${digits},"other":{"a":${digits}}`));
    expect(count(await response.text())).toBe(3);
    expect(count(received())).toBe(3);
  });

  it('counts as another value under the same Idempotency-Key', async () => {
    answerWhole();
    const headers = { 'idempotency-key': 'a' };
    await post(parley, requestWith(`"seed":${digits}`), headers);
    const repeated = await post(parley, requestWith(`"seed":${digits}`), headers);
    expect(repeated.headers.get('idempotent-replayed')).toBe('true');
    expect(await repeated.json()).toMatchObject({ took_ns: asDouble });
    expect((await post(parley, requestWith(`"seed":${asDouble}`), headers)).status).toBe(409);
  });

  it('is neither a limit that Parley could hold credits for, nor a reference', async () => {
    answerWhole();
    const response = await post(parley, requestWith(`"n_predict":${digits},"min_tokens":${digits}`));
    expect(response.status).toBe(200);
    expect(JSON.parse(received())).toMatchObject({ max_tokens: 4096, min_tokens: 4096 });
    expect(received()).not.toContain('n_predict');
    for (const member of ['n', 'max_tokens', 'n_cmpl']) {
      const refused = await post(parley, requestWith(`"${member}":${digits}`));
      expect((await errorOf(refused)).code).toBe('invalid_parameter');
    }
    // A prompt with references would hold credits for the whole context.
    const key = await parley.newKey({ credits: '0.006' });
    const held = await post(parley, requestWith('"max_tokens":1'), { authorization: `Bearer ${key}` });
    expect(held.status).toBe(200);
    expect(JSON.parse(received())).toMatchObject({ max_tokens: 1 });
  });
});
