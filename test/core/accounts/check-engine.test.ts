/** Checks of a server that may become an engine, by the real program against a scripted upstream and another Parley. */
import { afterAll, beforeEach, expect, it } from 'vitest';
import { errorOf, startParley } from '../../support/parley.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { failure, json, redirect } from '../../support/upstream-answers.ts';

interface Checked {
  readonly diagnostics: { readonly subject: string; readonly state: string; readonly found: string }[];
  readonly models: string[];
}

const apiKey = 'sk-tried-only-once';
let upstream: ScriptedUpstream;

const parley = await startParley();
afterAll(() => parley.close());

beforeEach(async () => {
  upstream = await startScriptedUpstream();
  upstream.answer('/models', json({ data: [{ id: 'small' }, { id: 'large' }] }));
  upstream.answer('/chat/completions', json({ choices: [{}], usage: { total_tokens: 9 } }));
  return () => upstream.stop();
});

const call = (body: object) =>
  parley.admin('/engines/check', { kind: 'openai', url: upstream.baseUrl, api_key: apiKey, ...body });

async function check(body: object = {}): Promise<Checked> {
  const answer = await call(body);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Checked;
}

const statesOf = ({ diagnostics }: Checked) =>
  Object.fromEntries(diagnostics.map(({ subject, state }) => [subject, state]));
const chats = (...names: string[]) => names.map((name) => ({ name, type: 'chat' }));

it('lists the models of a server, and tells which of the wanted ones it has', async () => {
  const found = await check({ models: chats('small', 'medium') });
  expect(found.models).toEqual(['small', 'large']);
  expect(statesOf(found)).toMatchObject({ upstream: 'ok', 'model small': 'ok', 'model medium': 'problem' });
  const paths = upstream.requests.map(({ path, headers }) => [path, headers.authorization]);
  expect(paths).toContainEqual(['/models', `Bearer ${apiKey}`]);
  expect(paths.map(([path]) => path)).not.toContain('/chat/completions');
});

it('asks for one token if it shall, under the name that the server takes', async () => {
  const refusal = { error: { message: 'Unsupported', param: 'max_tokens', code: 'unsupported_parameter' } };
  upstream.answer('/chat/completions', json(refusal, { status: 400 }), json({ choices: [{}] }));
  const found = await check({ models: chats('small'), chat: true });
  expect(statesOf(found)).toMatchObject({ 'chat with small': 'ok' });
  expect(JSON.stringify(found)).toContain('It reports no tokens');
  const asked = upstream.requests.filter(({ path }) => path === '/chat/completions');
  expect(asked.map((request) => request.json)).toMatchObject([
    { model: 'small', max_tokens: 1 },
    { model: 'small', max_completion_tokens: 1 },
  ]);
});

it('says what is wrong with a chat, a key or an address', async () => {
  upstream.answer('/chat/completions', json({ message: 'hello' }));
  expect(statesOf(await check({ models: chats('small'), chat: true }))).toMatchObject({
    upstream: 'ok',
    'chat with small': 'problem',
  });
  upstream.answer('/models', failure(401));
  const refused = await check();
  expect(refused).toMatchObject({ models: [], diagnostics: [{ subject: 'upstream', state: 'problem' }] });
  expect(refused.diagnostics[0]?.found).toContain('does not accept the key');
  upstream.answer('/models', redirect('http://127.0.0.1:9/models'));
  expect(statesOf(await check())).toEqual({ upstream: 'problem' });
  await upstream.stop();
  expect((await check()).diagnostics[0]?.found).toContain('cannot be reached');
});

it('checks another Parley', async () => {
  const models = [
    { name: 'eliza', type: 'chat' },
    { name: 'nobody', type: 'chat' },
  ];
  const found = await check({ kind: 'remote', url: parley.baseUrl, api_key: parley.apiKey, models });
  expect(found.models).toContain('eliza');
  expect(statesOf(found)).toEqual({
    upstream: 'ok',
    'model eliza': 'ok',
    'context of eliza': 'ok',
    'model nobody': 'problem',
    'context of nobody': 'problem',
  });
});

it('refuses what the configuration refuses, and keeps nothing', async () => {
  const state = async () => (await parley.admin('/server')).json();
  const before = (await state()) as object;
  for (const url of ['', 'file:///etc/passwd', 'http://user:secret@127.0.0.1/v1', 'http://127.0.0.1/v1?a=b'])
    expect(await errorOf(await call({ url }))).toMatchObject({ status: 400, param: 'url' });
  for (const key of ['with blank', 'line\nbreak', ''])
    expect(await errorOf(await call({ api_key: key }))).toMatchObject({ status: 400, param: 'api_key' });
  const many = chats(...Array.from({ length: 21 }, (_, at) => `m${at}`));
  expect(await errorOf(await call({ models: many }))).toMatchObject({ status: 400, param: 'models' });
  await check();
  expect(await state()).toEqual(before);
  const audit = await (await parley.admin('/audit')).text();
  expect(audit).not.toContain(apiKey);
});
