/** The log of the real program: every line is JSON, and no line has a key, a prompt, an answer or audio. */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completion } from '../support/chat-answers.ts';
import { type Folder, type Serving, scratchFolder, serve } from '../support/command-line.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { events, failure, json, resetAtOnce, whole } from '../support/upstream-answers.ts';

const prompt = 'zebra crossing at midnight';
const answer = 'walrus in the answer';
const upstreamKey = 'sk-upstream-secret-0123456789';
const path = '/chat/completions';
/** An upstream that repeats the prompt in its error. */
const echoing = (status: number) =>
  json({ error: { message: `cannot answer: ${prompt}`, type: 'invalid', code: null } }, { status });

describe('the log', () => {
  let folder: Folder;
  let upstream: ScriptedUpstream;
  let server: Serving;
  let keys: { apiKey: string; adminKey: string };
  let calls = 0;

  const call = async (where: string, init: RequestInit) => {
    const headers = { authorization: `Bearer ${keys.apiKey}`, ...init.headers };
    const response = await fetch(server.baseUrl + where, { ...init, headers });
    await response.arrayBuffer().catch(() => undefined);
    calls++;
  };
  const chat = (body: object = {}) =>
    call(path, {
      method: 'POST',
      body: JSON.stringify({ model: 'far', messages: [{ role: 'user', content: prompt }], ...body }),
    });

  beforeAll(async () => {
    folder = scratchFolder();
    upstream = await startScriptedUpstream();
    const config = {
      log: { level: 'trace' },
      engines: {
        builtin: { kind: 'builtin' },
        upstream: { kind: 'openai', baseUrl: upstream.baseUrl, apiKeyEnv: 'UPSTREAM_KEY', retriesMax: 0 },
      },
      models: [
        { id: 'far', type: 'chat', contextTokens: 4096, engine: 'upstream', price: { input: 1, output: 1 } },
        { id: 'flite', type: 'speech', engine: 'builtin' },
        { id: 'heard', type: 'transcription', engine: 'upstream' },
      ],
    };
    writeFileSync(folder.file('parley.yaml'), JSON.stringify(config));
    server = await serve(['--demo', '--data-dir', folder.file('data')], {
      cwd: folder.path,
      env: { UPSTREAM_KEY: upstreamKey },
    });
    keys = JSON.parse(readFileSync(folder.file('data/first-run.json'), 'utf8'));
    const telling = { error: { message: upstreamKey, type: upstreamKey, code: upstreamKey } };
    const answers = [
      ...[json(telling, { status: 401 }), json(telling), events([telling])],
      ...[400, 401, 403, 404, 429, 500, 503].map(echoing),
      ...[failure(500), resetAtOnce, whole(prompt), json({ said: prompt }), json(completion(answer))],
    ];
    for (const next of answers) {
      upstream.answer(path, next);
      await chat();
      await chat({ stream: true });
    }
    await chat({ messages: prompt });
    await call(path, { method: 'POST', body: `{"model": "${prompt}` });
    await call('/audio/speech', { method: 'POST', body: JSON.stringify({ model: 'flite', input: prompt }) });
    await call('/audio/speech', { method: 'POST', body: JSON.stringify({ model: prompt, input: prompt }) });
    const form = new FormData();
    form.append('file', new Blob([`RIFF....WAVE${prompt}`]), `${prompt}.wav`);
    form.append('prompt', prompt);
    upstream.answer('/audio/transcriptions', echoing(500));
    await call('/audio/transcriptions', { method: 'POST', body: form });
    await call('/models', { headers: { authorization: `Bearer ${keys.apiKey}x` } });
    await call('/admin/accounts', { headers: { authorization: `Bearer ${keys.adminKey}` } });
    server.kill('SIGHUP');
    await new Promise((resolve) => setTimeout(resolve, 500));
    server.kill('SIGTERM');
    await server.ended;
  });
  afterAll(async () => {
    await server.close();
    await upstream.stop();
    folder.remove();
  });

  it('has a line for each failure, in JSON, with the request id', () => {
    const lines = server
      .stderr()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(calls).toBeGreaterThan(25);
    expect(lines.filter(({ requestId }) => /^req_[0-9a-f]+$/.test(requestId)).length).toBeGreaterThan(10);
    expect(lines.map(({ msg }) => msg)).toContain('configuration reloaded');
  });

  it.each([
    ['the prompt', () => prompt],
    ['the answer', () => answer],
    ['an API key', () => keys.apiKey],
    ['an admin key', () => keys.adminKey],
    ['the key of an upstream', () => upstreamKey],
  ])('never contains %s', (_, secret) => {
    expect(server.stderr()).not.toContain(secret());
    // Not even the beginning of the secret, which parsers quote in their errors.
    expect(server.stderr()).not.toContain(secret().slice(0, 10));
    expect(server.stderr()).not.toContain(Buffer.from(secret()).toString('base64').slice(0, 12));
  });
});
