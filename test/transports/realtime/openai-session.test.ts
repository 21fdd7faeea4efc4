/** OpenAI's Realtime protocol for transcription, by a WebSocket of the tests. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import * as pb from '../../../gen/parley/management/v1/management_pb.ts';
import { cliCall } from '../../../src/core/access/call.ts';
import { ClientSecrets } from '../../../src/core/access/client-secrets.ts';
import { ParleyError } from '../../../src/core/values/errors.ts';
import { until } from '../../support/command-line.ts';
import { fakeTranscription, withFakes } from '../../support/fake-engines.ts';
import { Ear } from '../../support/live-ear.ts';
import { errorOf, type Parley, startParley } from '../../support/parley.ts';
import { RawClient } from '../../support/raw-http.ts';
import { RealtimeClient } from '../../support/realtime-client.ts';

let parley: Parley;
let ear: Ear;

beforeAll(async () => {
  ear = new Ear();
  const transcription = fakeTranscription({ openSpeaker: () => ear.openSpeaker() });
  parley = await startParley({
    settings: { fairUse: { transcriptionUnitsPerSecond: 1 } },
    engines: withFakes({ transcription }),
  });
});
afterAll(() => parley.close());
beforeEach(() => {
  ear.turns.length = 0;
  ear.refusal = undefined;
});

class Client extends RealtimeClient {
  constructor(query?: string, headers?: Record<string, string>, protocols: string[] = []) {
    super(parley, { ...(query !== undefined && { query }), ...(headers && { headers }), protocols });
  }
}

const bearer = (key = parley.apiKey) => ({ authorization: `Bearer ${key}` });
const manually = { audio: { input: { turn_detection: null } } };
const transcription = 'conversation.item.input_audio_transcription';

describe('a session', () => {
  it('transcribes what its client commits, for units', async () => {
    const client = new Client();
    const { session } = await client.configure(manually);
    expect(session).toMatchObject({ type: 'transcription', audio: { input: { turn_detection: null } } });
    client.speak(1.5);
    client.send({ type: 'input_audio_buffer.commit' });
    const completed = await client.next(`${transcription}.completed`);
    expect(completed).toMatchObject({ item_id: 'item_1', content_index: 0, usage: { type: 'duration' } });
    expect(completed['transcript']).toMatch(/^heard 1\.[45]\d* s$/);
    const types = client.events.map(({ type }) => type);
    expect(types).toEqual([
      'session.created',
      'session.updated',
      'input_audio_buffer.committed',
      'conversation.item.added',
      'conversation.item.done',
      `${transcription}.completed`,
    ]);
    client.socket.close();
    const [code] = await client.closed;
    expect(code).toBe(1005);
    await expect.poll(async () => (await parley.books()).units.map(({ used }) => used)).toEqual([2]);
  });

  it('answers the update of the beta by its own name', async () => {
    const client = new Client();
    await client.next('session.created');
    const session = { input_audio_format: 'g711_ulaw', turn_detection: null };
    client.send({ type: 'transcription_session.update', session });
    const { session: updated } = await client.next('transcription_session.updated');
    expect(updated).toMatchObject({ audio: { input: { format: { type: 'audio/pcmu' } } } });
    expect(client.all('session.updated')).toEqual([]);
    client.socket.close();
  });

  it('sends deltas that only grow', async () => {
    const client = new Client();
    await client.configure(manually);
    client.speak(0.5);
    await expect.poll(() => ear.turns.length).toBe(1);
    for (const text of ['go', 'go on', 'go on now', 'go on now then', 'go on now then']) {
      ear.turns[0]?.options.onPartial(text);
    }
    const deltas = () => client.all(`${transcription}.delta`).map(({ delta }) => delta);
    await expect.poll(() => deltas().join('')).toBe('go on now');
    client.send({ type: 'input_audio_buffer.clear' });
    await client.next('input_audio_buffer.cleared');
    client.socket.close();
  });

  it('takes the key as a subprotocol, which it does not repeat', async () => {
    const protocols = ['realtime', `openai-insecure-api-key.${parley.apiKey}`];
    const client = new Client('model=gpt-realtime-whisper', {}, protocols);
    const [upgrade] = await once(client.socket, 'upgrade');
    expect(upgrade.headers['x-request-id']).toMatch(/^req_/);
    const { session } = await client.next('session.created');
    expect(client.socket.protocol).toBe('realtime');
    expect(session).toMatchObject({ type: 'realtime', audio: { input: { turn_detection: null } } });
    client.socket.close();
  });

  it.each([
    ['without a key', {}, 401, 'invalid_api_key'],
    ['with a wrong key', { authorization: 'Bearer pk_wrong' }, 401, 'invalid_api_key'],
  ])('%s is refused as JSON before the upgrade', async (_, headers, status, code) => {
    const client = new Client('', headers);
    const [, response] = await once(client.socket, 'unexpected-response');
    const body = JSON.parse(Buffer.concat(await response.toArray()).toString());
    expect([response.statusCode, body.error.code]).toEqual([status, code]);
    expect(response.headers['x-request-id']).toMatch(/^req_/);
  });

  it('leaves other paths and other protocols as they are', async () => {
    const wrong = await fetch(`${parley.baseUrl}/realtimes`, { headers: bearer() });
    expect(wrong.status).toBe(404);
    const plain = await fetch(`${parley.baseUrl}/realtime`, { headers: bearer() });
    expect(plain.status).toBe(404);
  });

  it('reports a wrong event with its id, and goes on', async () => {
    const client = new Client();
    await client.configure(manually);
    client.socket.send('no json');
    client.send({ type: 'response.create', event_id: 'mine' });
    client.send({ type: 'unknown' });
    client.send({ type: 'input_audio_buffer.append', audio: 5 });
    client.send({ type: 'input_audio_buffer.commit' });
    client.send({ type: 'session.update', session: { audio: { input: { format: { type: 'audio/mp3' } } } } });
    client.send({ type: 5, event_id: 'untyped' });
    client.send({ type: 'input_audio_buffer.append', event_id: 'noise', audio: 'not base64!' });
    client.send({ type: 'input_audio_buffer.commit', event_id: 'empty' });
    client.send({ type: 'session.update', event_id: 'other', session: { type: 'realtime' } });
    await client.next('error', 10);
    const errors = client
      .all('error')
      .map(({ error }) => error as { event_id: string; message: string; code: string; param: string });
    expect(errors[0]?.param).toBeNull();
    const told = Object.fromEntries(errors.map((error) => [error.event_id, error]));
    expect(told).toMatchObject({
      mine: { message: expect.stringContaining('no conversations') },
      untyped: { param: null },
      noise: { param: 'audio' },
      empty: { code: 'input_audio_buffer_commit_empty' },
      other: { param: 'session.type' },
    });
    expect(errors.filter(({ event_id }) => event_id === null)).toHaveLength(5);
    client.speak(0.2);
    client.send({ type: 'input_audio_buffer.commit' });
    await client.next(`${transcription}.completed`);
    client.socket.close();
  });

  it('reports a turn that fails before it is an item as an error', async () => {
    const client = new Client();
    await client.configure(manually);
    ear.refusal = new ParleyError('overloaded');
    client.speak(0.1);
    expect(await client.next('error')).toMatchObject({ error: { code: 'overloaded' } });
    expect(client.all(`${transcription}.failed`)).toEqual([]);
    client.socket.close();
  });

  it('says once why it ends if its first turn is refused', async () => {
    const { accounts } = parley.app.services;
    const name = { accountId: parley.accountId, name: 'shorter' };
    const { key, secret } = await accounts.createKey(create(pb.CreateKeyRequestSchema, name), cliCall);
    const client = new Client('intent=transcription', bearer(secret));
    await client.configure(manually);
    await accounts.revokeKey(create(pb.RevokeKeyRequestSchema, { keyId: key?.id ?? '' }), cliCall);
    client.speak(0.5);
    expect(await client.closed).toEqual([1008, 'invalid_api_key']);
    expect(client.events.map(({ type }) => type)).toEqual(['session.created', 'session.updated', 'error']);
  });

  it('closes with 1008 once its key is revoked, after the audio that was reserved', async () => {
    const { accounts } = parley.app.services;
    const name = { accountId: parley.accountId, name: 'short' };
    const { key, secret } = await accounts.createKey(create(pb.CreateKeyRequestSchema, name), cliCall);
    const client = new Client('intent=transcription', bearer(secret));
    await client.configure(manually);
    client.speak(1);
    await expect.poll(() => ear.turns[0]?.seconds).toBeGreaterThan(0.9);
    await accounts.revokeKey(create(pb.RevokeKeyRequestSchema, { keyId: key?.id ?? '' }), cliCall);
    client.speak(11);
    expect(await client.closed).toEqual([1008, 'invalid_api_key']);
    expect(client.all(`${transcription}.completed`)).toHaveLength(1);
    expect(client.events.at(-1)).toMatchObject({ type: 'error', error: { code: 'invalid_api_key' } });
  });
});

describe('a short-lived secret', () => {
  const ask = (body: object, key = parley.apiKey) =>
    parley.postJson('/realtime/client_secrets', body, { headers: bearer(key) });
  const secretOf = async (key: string, body: object = {}) =>
    (await (await ask(body, key)).json()) as { value: string; expires_at: number; session: object };
  const refusalOf = async (secret: string) => {
    const [, response] = await once(new Client('', bearer(secret)).socket, 'unexpected-response');
    return JSON.parse(Buffer.concat(await response.toArray()).toString()).error;
  };

  it('opens sessions of the key that asked, with its settings, and ends with it', async () => {
    const { accounts } = parley.app.services;
    const name = { accountId: parley.accountId, name: 'of a page' };
    const { key, secret } = await accounts.createKey(create(pb.CreateKeyRequestSchema, name), cliCall);
    const session = { type: 'transcription', ...manually };
    const { value } = await secretOf(secret, { session });
    const client = new Client('', {}, ['realtime', `openai-insecure-api-key.${value}`]);
    const { session: created } = await client.next('session.created');
    expect(created).toMatchObject({ type: 'transcription', audio: { input: { turn_detection: null } } });
    client.speak(0.5);
    client.send({ type: 'input_audio_buffer.commit' });
    await client.next(`${transcription}.completed`);
    const { items } = await parley.app.store.usage.list({}, { size: 1, after: undefined });
    expect(items[0]).toMatchObject({ keyId: key?.id, operation: 'transcription' });
    await accounts.revokeKey(create(pb.RevokeKeyRequestSchema, { keyId: key?.id ?? '' }), cliCall);
    client.speak(11);
    expect((await client.closed)[0]).toBe(1008);
    expect(await refusalOf(value)).toMatchObject({ code: 'invalid_api_key' });
  });

  it.each([10, 7_200])('may live for %d s', async (seconds) => {
    const before = Date.now() / 1000;
    const { expires_at } = await secretOf(parley.apiKey, { expires_after: { seconds } });
    expect(expires_at - seconds).toBeGreaterThanOrEqual(Math.floor(before));
    expect(expires_at - seconds).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000));
  });

  it('expires, opens nothing else, and cannot be changed', async () => {
    const { value, expires_at } = await secretOf(parley.apiKey);
    expect(Math.round(expires_at - Date.now() / 1000)).toBeLessThanOrEqual(60);
    expect((await fetch(`${parley.baseUrl}/models`, { headers: bearer(value) })).status).toBe(401);
    expect(await refusalOf(`${value.slice(0, -4)}AAAA`)).toMatchObject({ code: 'invalid_api_key' });
    expect(await refusalOf(value.replace(/^ek_/, ''))).toMatchObject({ code: 'invalid_api_key' });
    const wrong = { session: { audio: { input: { format: { type: 'audio/mp3' } } } } };
    expect(await refusalOf((await secretOf(parley.apiKey, wrong)).value)).toMatchObject({ param: 'format' });
    const openAt = (nowMs: number) =>
      new ClientSecrets({ store: parley.app.store, accessClock: { now: () => nowMs } }).open(
        `Bearer ${value}`,
      );
    expect(await openAt(expires_at * 1000 - 1)).toMatchObject({ secret: parley.apiKey });
    expect(await openAt(expires_at * 1000)).toBeUndefined();
    vi.useFakeTimers({ toFake: ['Date'], now: expires_at * 1000 });
    expect(await refusalOf(value)).toMatchObject({ code: 'invalid_api_key' });
    vi.useRealTimers();
  });

  it.each([9, 9.9, 10.5, 7_200.1, 7_201, -60, 0, 2 ** 53, 'NaN', 'Infinity'])(
    'may not live for %s s',
    async (seconds) => {
      const refused = await ask({ expires_after: { anchor: 'created_at', seconds } });
      expect(refused.status).toBe(400);
      expect(await errorOf(refused)).toMatchObject({
        code: 'invalid_parameter',
        param: 'expires_after.seconds',
      });
    },
  );

  it('holds settings of at most 4,096 bytes', async () => {
    const empty = JSON.stringify({ instructions: '' }).length;
    const settings = (bytes: number) => ({ session: { instructions: 'x'.repeat(bytes - empty) } });
    expect((await ask(settings(4_096))).status).toBe(200);
    expect(await errorOf(await ask(settings(4_097)))).toMatchObject({ param: 'session' });
  });
});

describe('a hostile client', () => {
  it.each([
    ['a message of over 1 MiB', (client: Client) => client.socket.send('x'.repeat(1_048_577)), 1009],
    [
      'a message in many fragments',
      (client: Client) => {
        for (let part = 0; part < 40; part++) client.socket.send('x', { fin: false });
      },
      1008,
    ],
  ])('is cut for %s', async (_, attack, code) => {
    const client = new Client();
    await client.next('session.created');
    attack(client);
    expect((await client.closed)[0]).toBe(code);
  });

  it('that reads nothing is not read either, and is cut after a minute at most', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const client = new Client();
    await client.configure(manually);
    client.socket.pause();
    // More answers, and then more messages, than the 36 MB that the buffers of the system may hold.
    for (let sent = 0; sent < 250_000; sent++) client.send({ type: 'input_audio_buffer.commit' });
    const filler = 'x'.repeat(1_000_000);
    for (let sent = 0; sent < 60; sent++) client.send({ type: 'input_audio_buffer.commit', filler });
    let before = -1;
    await until(async () => {
      await sleep(200);
      const [last, now] = [before, client.socket.bufferedAmount];
      before = now;
      return now > 0 && now === last;
    });
    // Each pause of the client above may have been one of the machine, so the server looks until it cuts.
    const record = async () =>
      (await parley.app.store.usage.list({}, { size: 1, after: undefined })).items[0];
    await until(async () => {
      await vi.advanceTimersByTimeAsync(30_000);
      await sleep(200);
      return (await record())?.state === 'cancelled';
    });
    client.socket.resume();
    expect((await client.closed)[0]).toBe(1006);
    vi.useRealTimers();
    expect((await record())?.fairUseUnits).toBe(0);
  });

  it('that sends nothing but an upgrade with a body is answered', async () => {
    const upgrade = 'connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n';
    const raw = await RawClient.open(new URL(parley.baseUrl).origin);
    const head = `GET /api/v1/realtime HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${parley.apiKey}\r\n${upgrade}`;
    await raw.write(`${head}content-length: 5\r\n\r\nhello`);
    await expect
      .poll(() => raw.received)
      .toMatch(/^HTTP\/1\.1 400 [\s\S]*x-request-id: req_[\s\S]*"code":"invalid_request_error"/);
    raw.close();
  });

  it.each([
    ['/api/v1', 101],
    ['/api/v1/?model=any', 101],
    ['/api/v1/realtime/', 404],
    ['/api/v1/models', 200],
  ])('opens where a client takes the base URL as it is, and nowhere else: %s', async (path, status) => {
    const raw = await RawClient.open(new URL(parley.baseUrl).origin);
    const socket = `sec-websocket-version: 13\r\nsec-websocket-key: ${Buffer.alloc(16).toString('base64')}\r\n`;
    const head = `GET ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${parley.apiKey}\r\n${socket}`;
    await raw.write(`${head}connection: Upgrade\r\nupgrade: websocket\r\n\r\n`);
    await expect.poll(() => raw.received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    raw.close();
  });

  it('that upgrades to HTTP/2 gets the answer of HTTP/1', async () => {
    const raw = await RawClient.open(new URL(parley.baseUrl).origin);
    const head = `GET /api/v1/realtime HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${parley.apiKey}\r\n`;
    await raw.write(
      `${head}connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n\r\n`,
    );
    await expect.poll(() => raw.received).toMatch(/^HTTP\/1\.1 404 /);
    raw.close();
  });
});

// Last, as the server then opens no other session.
describe('a server that stops', () => {
  it('tells its clients in time that their texts do not come', async () => {
    const slow = new Ear();
    slow.goesOn = new Promise(() => undefined);
    const engines = withFakes({
      transcription: fakeTranscription({ openSpeaker: () => slow.openSpeaker() }),
    });
    const server = await startParley({ settings: { server: { drainMs: 2_000 } }, engines });
    const client = new RealtimeClient(server);
    await client.configure(manually);
    client.speak(0.5);
    client.send({ type: 'input_audio_buffer.commit' });
    await client.next('input_audio_buffer.committed');
    await server.close();
    expect(await client.closed).toEqual([1001, 'overloaded']);
    expect(await client.next(`${transcription}.failed`)).toMatchObject({ error: { code: 'overloaded' } });
  });

  it('closes with 1001 when the server stops, after its turns', async () => {
    const client = new Client();
    await client.configure(manually);
    client.speak(0.5);
    await expect.poll(() => ear.turns.length).toBe(1);
    parley.app.services.realtime.drain();
    expect(await client.closed).toEqual([1001, 'overloaded']);
    expect(client.all(`${transcription}.completed`)).toHaveLength(1);
  });

  it('opens no other session', async () => {
    const client = new Client();
    expect(await client.closed).toEqual([1001, 'overloaded']);
  });
});
