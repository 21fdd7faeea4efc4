/** Live speech relayed to an upstream's Realtime API, through the program. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startBehind, upstreamKey } from '../../support/behind-upstream.ts';
import { LiveClient } from '../../support/live-client.ts';
import type { Parley } from '../../support/parley.ts';
import { httpAnswer, type RealtimeConnection, RealtimeUpstream } from '../../support/realtime-upstream.ts';

const upstream = new RealtimeUpstream();
const hearer = { id: 'hearer', type: 'transcription', engine: 'upstream' };
const limits = { firstByteMs: 1_500, idleMs: 1_500, totalMs: 4_000, retriesMax: 0, breakerFailures: 1_000 };
const engine = { realtime: true, headers: { 'X-Team': 'edge' }, models: { hearer: 'gpt-hear' }, ...limits };
let baseUrl: string;
let parley: Parley;

beforeAll(async () => {
  baseUrl = await upstream.start();
  parley = await start({});
});
afterEach(() => upstream.reset());
afterAll(async () => {
  await parley.close();
  await upstream.close();
});

function start(changed: object, models: readonly Record<string, unknown>[] = [hearer]): Promise<Parley> {
  return startBehind(baseUrl, {
    engine: { ...engine, ...changed },
    models,
    settings: { fairUse: { transcriptionUnitsPerSecond: 1 } },
  });
}

const clients: LiveClient[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.leave();
});

/** A client that ends its turns itself. */
function newClient(server = parley, language?: string): LiveClient {
  const client = new LiveClient(server);
  clients.push(client);
  client.configure(language === undefined ? {} : { language });
  return client;
}

const second = () => new Int16Array(16_000);

function say(client: LiveClient, seconds = 1): void {
  for (let at = 0; at < seconds; at++) client.speak(second());
  client.commit();
}

async function connection(count = 1): Promise<RealtimeConnection> {
  await expect.poll(() => upstream.connections.length).toBeGreaterThanOrEqual(count);
  return upstream.connections[count - 1] as RealtimeConnection;
}

const bytesOfSecond = 48_000;

describe('a session', () => {
  it('relays its turns over one connection, with the key and the headers of other calls', async () => {
    const client = newClient(parley, 'en');
    say(client);
    expect(await client.next('turn')).toMatchObject({ turn: 1, text: `${bytesOfSecond} bytes`, seconds: 1 });
    say(client, 2);
    expect((await client.next('turn', 2)).text).toBe(`${2 * bytesOfSecond} bytes`);
    expect(await client.finish()).toBeUndefined();
    expect(upstream.connections.length).toBe(1);
    const { headers, path, events } = await connection();
    expect(path).toBe('/v1/realtime?intent=transcription');
    expect(headers).toMatchObject({ authorization: `Bearer ${upstreamKey}`, 'x-team': 'edge' });
    const settings = events.filter(({ type }) => type === 'session.update').map(({ session }) => session);
    expect(settings.at(-1)).toEqual({
      type: 'transcription',
      audio: {
        input: {
          format: { type: 'audio/pcm', rate: 24_000 },
          transcription: { model: 'gpt-hear', language: 'en' },
          turn_detection: null,
        },
      },
    });
    await expect.poll(() => upstream.connections[0]?.isClosed).toBe(true);
    const { units } = await parley.books();
    expect(units.map(({ used }) => used)).toEqual([3]);
  });

  it('connects before anybody speaks', async () => {
    newClient();
    expect((await connection()).turns).toEqual([]);
  });

  it('passes partial texts on', async () => {
    upstream.onEvent = (to, event) => {
      if (event.type === 'input_audio_buffer.append' && to.bytes === 0) to.delta('item_early', 'it was');
      if (event.type === 'input_audio_buffer.commit') {
        to.send('input_audio_buffer.committed', { item_id: 'item_early' });
        to.delta('item_early', ' early');
        to.complete('item_early', 'It was early.');
      } else to.answer(event);
    };
    const client = newClient();
    client.speak(second());
    expect((await client.next('partial')).text).toBe('it was');
    client.commit();
    expect((await client.next('turn')).text).toBe('It was early.');
  });

  it('gives a cleared turn nothing, and its texts to nobody', async () => {
    upstream.onEvent = (to, event) => {
      if (event.type === 'input_audio_buffer.clear') to.delta('item_cleared', 'lost');
      to.answer(event);
    };
    const client = newClient();
    client.speak(second());
    await expect.poll(() => upstream.connections[0]?.bytes).toBeGreaterThan(40_000);
    client.clear();
    say(client, 2);
    expect((await client.next('turn')).text).toBe(`${2 * bytesOfSecond} bytes`);
    expect(client.all('partial').map(({ text }) => text)).not.toContain('lost');
  });

  it('fills up a turn that is too short for upstreams', async () => {
    const client = newClient();
    client.speak(new Int16Array(160));
    client.commit();
    expect(await client.next('turn')).toMatchObject({ text: `${bytesOfSecond / 10} bytes`, seconds: 0.01 });
  });

  it('sends G.711 if that is configured', async () => {
    const other = await start({ realtimeFormat: 'pcmu' });
    const client = newClient(other);
    say(client);
    expect((await client.next('turn')).text).toBe('8000 bytes');
    expect((await connection()).events[0].session.audio.input.format).toEqual({ type: 'audio/pcmu' });
    client.leave();
    await other.close();
  });

  it('connects again after a loss, and after the time without a turn', async () => {
    const client = newClient();
    say(client);
    await client.next('turn');
    (await connection()).socket.terminate();
    say(client, 2);
    expect((await client.next('turn', 2)).text).toBe(`${2 * bytesOfSecond} bytes`);
    const { events } = await connection(2);
    expect(events.length).toBeGreaterThan(0);
    await expect.poll(() => upstream.connections[1]?.isClosed, { timeout: 5_000 }).toBe(true);
    say(client, 3);
    expect((await client.next('turn', 3)).text).toBe(`${3 * bytesOfSecond} bytes`);
    expect(upstream.connections.length).toBe(3);
  });
});

describe('an upstream that fails', () => {
  const failures: readonly [name: string, onEvent: RealtimeUpstream['onEvent'], message: RegExp][] = [
    ['closes in the middle of a turn', (to) => to.socket.close(1001), /broke off its answer/],
    ['goes away without a word', (to) => to.socket.terminate(), /broke off its answer/],
    ['never answers', () => undefined, /did not answer in time/],
    ['sends no JSON', (to) => to.socket.send('{"type":'), /malformed response/],
    ['sends no object', (to) => to.socket.send('[1]'), /malformed response/],
    ['sends bytes', (to) => to.socket.send(Buffer.from([1, 2])), /malformed response/],
    ['sends a text without its turn', (to) => to.send('input_audio_buffer.committed'), /malformed response/],
    ['sends a huge message', (to) => to.complete('item', 'word '.repeat(60_000)), /malformed response/],
    [
      'floods with texts',
      (to) => {
        for (let at = 0; at < 20; at++) to.delta('item', 'w'.repeat(100_000));
      },
      /malformed response/,
    ],
    [
      'pauses in the middle of a text',
      (to) => {
        to.send('input_audio_buffer.committed', { item_id: 'item' });
        to.delta('item', 'a');
      },
      /stopped in the middle/,
    ],
    [
      'reports an error',
      (to) => to.send('error', { error: { type: 'server_error' } }),
      /failed on this request/,
    ],
    [
      'has had too many requests',
      (to) => to.fail('item', { type: 'requests', code: 'rate_limit_exceeded' }),
      /too many requests/,
    ],
    [
      'has no credits',
      (to) => to.send('error', { error: { code: 'insufficient_credits', event_id: 'turn_1' } }),
      /has no credits left/,
    ],
  ];

  it.each(failures)('fails the turn, for nothing: %s', async (_, onCommit, message) => {
    const before = (await parley.books()).units.map(({ used }) => used);
    upstream.onEvent = (to, event) => {
      if (event.type !== 'input_audio_buffer.commit') return to.answer(event);
      onCommit(to, event);
      to.bytes = 0;
    };
    const client = newClient();
    say(client);
    const failure = await expect
      .poll(() => client.all('failure')[0], { timeout: 6_000 })
      .toBeDefined()
      .then(() => client.all('failure')[0]);
    expect(failure?.code).toBe('upstream_error');
    expect(failure?.message).toMatch(message);
    expect((await parley.books()).units.map(({ used }) => used)).toEqual(before);
    upstream.onEvent = (to, event) => to.answer(event);
    say(client, 2);
    expect((await client.next('turn')).text).toBe(`${2 * bytesOfSecond} bytes`);
  });

  const refusals: readonly [name: string, answer: string | undefined, message: RegExp][] = [
    ['401', httpAnswer(401, { error: { code: 'invalid_api_key' } }), /does not accept the key/],
    ['429', httpAnswer(429, { error: {} }, { 'retry-after': '7' }), /too many requests/],
    ['404', httpAnswer(404, {}), /does not know the model/],
    ['302', httpAnswer(302, {}, { location: 'http://127.0.0.1:1/' }), /failed/],
    ['no answer', undefined, /did not answer in time/],
    ['no HTTP', 'garbage\r\n\r\n', /cannot be reached/],
  ];

  it.each(refusals)('fails the turns while the handshake is refused with %s', async (_, answer, message) => {
    upstream.refusal = { answer };
    const client = newClient();
    say(client);
    await expect.poll(() => client.all('failure').length, { timeout: 6_000 }).toBe(1);
    client.clear();
    expect(client.all('failure')[0]).toMatchObject({ code: 'upstream_error' });
    expect(client.all('failure')[0]?.message).toMatch(message);
    upstream.refusal = undefined;
    say(client, 2);
    expect((await client.next('turn')).text).toBe(`${2 * bytesOfSecond} bytes`);
  });
});

describe('several engines', () => {
  it('give a turn to the next one if the first cannot have begun it', async () => {
    upstream.refusal = { answer: 'garbage\r\n\r\n' };
    const second = new RealtimeUpstream();
    const other = await startBehind(baseUrl, {
      engine,
      engines: {},
      models: [{ ...hearer, engine: ['upstream', 'second'] }],
      settings: { engines: { second: { ...engine, kind: 'openai', baseUrl: await second.start() } } },
    });
    const client = newClient(other);
    say(client);
    expect((await client.next('turn')).text).toBe(`${bytesOfSecond} bytes`);
    expect(second.connections.length).toBe(1);
    client.leave();
    await other.close();
    await second.close();
  });
});

describe('the limits of the engine', () => {
  it('hold for connections: a session beyond them waits for one, and its turn is heard then', async () => {
    const other = await start({ callsMax: 1, idleMs: 60_000, firstByteMs: 60_000, totalMs: 60_000 });
    const first = newClient(other);
    await connection();
    const second = newClient(other);
    say(second);
    await expect.poll(async () => (await other.app.services.accounts) !== undefined).toBe(true);
    expect(second.all('turn').length).toBe(0);
    first.leave();
    expect((await second.next('turn')).text).toBe(`${bytesOfSecond} bytes`);
    second.leave();
    await other.close();
  });

  it('open the breaker after failed connections', async () => {
    const other = await start({ breakerFailures: 2, breakerOpenMs: 60_000 });
    upstream.refusal = { answer: 'garbage\r\n\r\n' };
    const client = newClient(other);
    for (let turn = 1; turn <= 3; turn++) {
      say(client);
      await client.next('failure', turn);
    }
    upstream.refusal = undefined;
    say(client);
    expect((await client.next('failure', 4)).message).toMatch(/cannot be reached/);
    client.leave();
    await other.close();
  });
});
