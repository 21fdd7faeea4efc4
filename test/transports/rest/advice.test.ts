/** The advice of errors about the path, the body, an unknown name, the plan and the credits. */
import { afterAll, describe, expect, it } from 'vitest';
import { quote } from '../../../src/core/values/quote.ts';
import { bearer, startParley } from '../../support/parley.ts';

const pages = new Map([['docs/index.html', Buffer.from('<p>The reference</p>')]]);
const parley = await startParley({ pages });
afterAll(() => parley.close());

/** The status, the code and the message of a refusal. */
async function refusal(answer: Promise<Response>): Promise<string> {
  const response = await answer;
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  return `${response.status} ${error.code} ${error.message}`;
}

describe('a wrong path', () => {
  const send = (method: string, path: string) =>
    refusal(fetch(new URL(path, parley.baseUrl), { method, ...bearer(parley.apiKey) }));

  it.each([
    ['/v1/chat/completions', '/api/v1/chat/completions'],
    ['/chat/completions', '/api/v1/chat/completions'],
    ['/api/chat/completions/', '/api/v1/chat/completions'],
    ['/v1/models/flite?x=1', '/api/v1/models/flite'],
  ])('that is not under /api/v1, %s, is answered with the right one', async (path, right) => {
    expect(await send('POST', path)).toBe(
      `404 not_found There is nothing at this path. Send the request to \`${right}\`. In an SDK, end the base URL in /api/v1.`,
    );
  });

  it.each([
    ['/api/v1/v1/audio/speech', '/api/v1/audio/speech'],
    ['/api/v1/models/', '/api/v1/models'],
  ])('that is nearly right, %s, is answered with the right one', async (path, right) => {
    expect(await send('GET', path)).toBe(
      `404 not_found There is nothing at this path. Send the request to \`${right}\`.`,
    );
  });

  it.each([
    ['GET', '/api/v1/audio/speech', 'POST'],
    ['PUT', '/api/v1/models', 'GET'],
    ['DELETE', '/api/v1/admin/accounts', 'GET or POST'],
    ['GET', '/api/v1/realtime/client_secrets', 'POST'],
  ])('with another method gets advice, too: %s %s should be %s', async (method, path, right) => {
    expect(await send(method, path)).toBe(
      `404 not_found There is nothing at this path for this method. Use ${right}.`,
    );
  });

  it.each([
    ['/', 'GET /api/v1/models'],
    ['/api/v1', 'GET /api/v1/models'],
    ['/v1/audio/transcribe', 'POST /api/v1/audio/transcriptions'],
    ['/api/v1/audio/speech/voices', 'GET /api/v1/audio/voices'],
    ['/api/v1/chat/completion', 'POST /api/v1/chat/completions'],
    ['/api/v1/model', 'GET /api/v1/models'],
    ['/health', 'GET /healthz'],
    ['/doc', 'GET /api/v1/key'],
    ['/console/sessions', 'POST /api/v1/completions'],
    ['/api/v1/%zzaudio/voices', 'GET /api/v1/audio/voices'],
    ['/api/v1/admin/account', 'POST /api/v1/admin/accounts'],
  ])('%s is answered with the existing paths, first %s', async (path, nearest) => {
    const refused = await send('GET', path);
    expect(refused).toMatch(/^404 not_found There is nothing at this path\. Paths, nearest first: /);
    const listed = refused
      .replace(/^.*first: /, '')
      .replace(/\.$/, '')
      .split(', ');
    expect(listed[0]).toBe(nearest);
    expect(listed.length).toBeGreaterThan(9);
    expect(listed.length).toBeLessThan(17);
    expect(listed.some((other) => other.includes('/admin'))).toBe(path.includes('admin'));
    expect(listed.filter((other) => /\/(docs|console)/.test(other))).toEqual([]);
    if (!path.includes('admin')) expect(listed).toContain('GET /api/v1/models/{id}');
  });

  it.each([
    ['/api/v1/responses/resp_1', "setOpenAIAPI('chat_completions')"],
    ['/v1/conversations', 'send the whole conversation each time'],
    ['/api/v1/realtime?model=x', 'with the header `Upgrade: websocket`'],
    ['/v1/realtime/sessions', '`POST /api/v1/realtime/client_secrets`'],
    ['/api/v1/realtime/calls', "`transport: 'websocket'` in @openai/agents"],
    ['/v1/live/sessions', 'Live speech has its sessions at `/api/v1/realtime`'],
    ['/api/v1/audio/translations', 'not translated'],
    ['/v1/messages/batches', 'End the base URL of its clients in /api.'],
    ['/api/tags', "Ollama's API"],
    ['/openai/deployments/gpt/chat/completions', "Azure's API"],
    ['/v1beta/models/x:generateContent', "Google's API"],
    ['/v1/embeddings', 'Give the client another server for this'],
  ])('of another API, %s, names the setting of the client', async (path, advice) => {
    const refused = await send('POST', path);
    expect(refused).toContain(advice);
    expect(refused).toContain('Paths, nearest first: ');
  });

  it.each([
    ['/api/v1/realtime?model=x', 'with the header `Upgrade: websocket`'],
    ['/v1/realtime?intent=transcription', '`GET /api/v1/realtime` with the header `Upgrade: websocket`'],
    ['/v1/realtime/client_secrets', 'Send the request to `/api/v1/realtime/client_secrets`.'],
    ['/api/v1/realtime/sessions', '`POST /api/v1/realtime/client_secrets`'],
    ['/api/v1/live', 'Live speech has its sessions at `/api/v1/realtime`'],
  ])('of live speech, %s, says over GET what it needs', async (path, advice) => {
    const refused = await send('GET', path);
    expect(refused).toContain(advice);
    expect(refused).toMatch(/^404 not_found /);
  });

  it('is answered without a secret in it', async () => {
    expect(await send('POST', `/v1/admin/keys/${parley.adminKey}/revoke`)).toContain(
      'Send the request to `/api/v1/admin/keys/pa_…/revoke`.',
    );
  });
});

describe('a body that is not JSON', () => {
  const paths = ['/audio/speech', '/chat/completions'];

  it.each(paths)('has an error of its own at %s if it is empty', async (path) => {
    expect(await refusal(parley.call(path, { method: 'POST' }))).toMatch(
      /^400 invalid_request_error The body is empty\. Send a JSON object/,
    );
  });

  it.each(paths)('has an error of its own at %s if it is a form', async (path) => {
    const body = new FormData();
    body.set('model', 'flite');
    expect(await refusal(parley.call(path, { method: 'POST', body }))).toMatch(
      /^400 invalid_request_error The body is a form\..*`Content-Type: application\/json`/,
    );
  });
});

describe('an unknown value', () => {
  const chat = (model: string) =>
    refusal(parley.postJson('/chat/completions', { model, messages: [{ role: 'user', content: 'x' }] }));
  const admin = (path: string, init: RequestInit = {}) =>
    refusal(parley.call(`/admin${path}`, { ...init, ...bearer(parley.adminKey) }));

  it('is repeated', async () => {
    expect(await chat('gpt-5')).toContain('unknown_model There is no chat model `gpt-5`.');
    const speech = parley.postJson('/audio/speech', { model: 'tts-9', input: 'x' });
    expect(await refusal(speech)).toContain('unknown_model There is no speech model `tts-9`.');
    expect(await chat('gpt-5')).toContain('examples/fixed-names.yaml');
    expect(await refusal(parley.call('/models/nope'))).toContain(
      'There is no such model for your key: `nope`.',
    );
    expect(await admin('/accounts/nobody')).toContain('There is no such account: `nobody`.');
    expect(await admin('/keys/key_1/revoke', { method: 'POST' })).toContain('There is no such key: `key_1`.');
  });

  it('is repeated without the secret of a key, even of a mistyped one', async () => {
    const secret = parley.apiKey.slice(0, -1);
    const refused = await admin(`/keys/${secret}/revoke`, { method: 'POST' });
    expect(refused).toContain('There is no such key: `pk_…`.');
    expect(await chat(`x${secret.toUpperCase()}`)).not.toContain(secret.slice(4, 20).toUpperCase());
  });

  it('is repeated with invisible characters escaped, up to a length', () => {
    expect(quote('a\n\u001b[31m\u202eb\u{e0041}\ud800')).toBe(
      '`a\\u{a}\\u{1b}[31m\\u{202e}b\\u{e0041}\\u{d800}`',
    );
    expect(quote('é🎉'.repeat(100))).toBe(`\`${'é🎉'.repeat(100)}\``);
    expect(quote('🎉'.repeat(201))).toBe(`\`${'🎉'.repeat(200)}…\``);
    expect(quote(`${'x'.repeat(190)}${parley.apiKey}`)).toBe(`\`${'x'.repeat(190)}pk_…\``);
  });
});

describe('an account without', () => {
  it('a plan names the person who opens one, and the way', async () => {
    const headers = bearer(await parley.newKey({ credits: '1' }));
    const refused = await refusal(parley.postJson('/audio/speech', { model: 'flite', input: 'x' }, headers));
    expect(refused).toMatch(/^402 subscription_required .*operator.*`parley plan start-trial <account>`/);
  });

  it('credits names the person who loads them, and the way', async () => {
    const headers = bearer(await parley.newKey());
    const body = { model: 'eliza', messages: [{ role: 'user', content: 'x' }] };
    expect(await refusal(parley.postJson('/chat/completions', body, headers))).toMatch(
      /^402 insufficient_credits .*operator.*`parley credits load <account> <amount> --reason <text>`/,
    );
  });
});
