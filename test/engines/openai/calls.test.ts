/** Retries, the circuit breaker, the limit of calls, and clients that leave, as an upstream sees them. */
import { describe, expect, it } from 'vitest';
import type { BehindOptions } from '../../support/behind-upstream.ts';
import { chunk, chunks, completion, question } from '../../support/chat-answers.ts';
import { path, quick, startImpatient, text } from '../../support/impatient-parley.ts';
import { startMuteServer } from '../../support/mute-server.ts';
import { errorOf } from '../../support/parley.ts';
import { type Answer, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import {
  endless,
  eventStream,
  events,
  eventText,
  failure,
  json,
  pieces,
  resetAtOnce,
  silence,
} from '../../support/upstream-answers.ts';

const { upstream, behind, afterTest, ask } = await startImpatient();

/** A log that keeps the lines about the upstream. */
function keptLog() {
  const lines: { fields: Readonly<Record<string, unknown>>; message: string }[] = [];
  const keep = (fields: object, message: string) => {
    const isOfRequest = 'requestId' in fields;
    if (!isOfRequest && 'engine' in fields && fields.engine === 'upstream')
      lines.push({ fields: { ...fields }, message });
  };
  return { log: { info: keep, warn: keep, error: keep }, lines };
}

describe('the log', () => {
  it('names errors that the operator must fix, without their messages, which may repeat a prompt', async () => {
    const { log, lines } = keptLog();
    const parley = await behind(upstream.baseUrl, { log });
    for (const status of [400, 422, 429, 401, 500]) {
      upstream.answer(path, failure(status));
      await parley.postJson(path, question);
    }
    expect(lines.map(({ fields }) => fields['status'])).toEqual([401, 500]);
    expect(JSON.stringify(lines[0]?.fields['err'])).toContain('the upstream answered 401 (upstream_code)');
    expect(JSON.stringify(lines.map(({ fields }) => fields['err']))).not.toContain('upstream words');
  });

  it('says that the account of the engine is empty, under any status, and does not retry', async () => {
    const { log, lines } = keptLog();
    const parley = await behind(upstream.baseUrl, { log, engine: { retriesMax: 2, retryStatuses: [429] } });
    const before = upstream.requests.length;
    upstream.answer(path, json({ error: { code: 'insufficient_quota' } }, { status: 429 }));
    await parley.postJson(path, question);
    upstream.answer(path, failure(402));
    await parley.postJson(path, question);
    const empty = 'the account of this engine at its upstream is empty';
    expect(lines.map(({ message }) => message)).toEqual([empty, empty]);
    expect(upstream.requests.length).toBe(before + 2);
  });
});

describe('a request that cannot have run', () => {
  const retrying = { ...quick, totalMs: 20_000, retriesMax: 5, breakerFailures: 1_000 };

  it('is retried without the client noticing', async () => {
    const down = await startScriptedUpstream();
    afterTest(() => down.stop());
    down.answer(path, json(completion()));
    await down.stop();
    const parley = await behind(down.baseUrl, { engine: retrying });
    const asked = parley.postJson(path, question);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await down.listen();
    expect((await asked).status).toBe(200);
    expect(down.requests).toHaveLength(1);
  });

  it('is retried `retriesMax` times', async () => {
    const refusing = await startMuteServer({ resets: true });
    afterTest(() => refusing.close());
    const parley = await behind(`https://127.0.0.1:${refusing.port}/v1`, {
      engine: { ...retrying, retriesMax: 2 },
    });
    expect((await parley.postJson(path, question)).status).toBe(502);
    expect(refusing.connections).toBe(3);
  });

  it('is the only kind that is retried: after a reset, an error or silence it may have run', async () => {
    const parley = await behind(upstream.baseUrl, { engine: retrying });
    for (const answer of [resetAtOnce, failure(500), failure(429), failure(503), silence]) {
      upstream.answer(path, answer);
      const before = upstream.requests.length;
      expect((await parley.postJson(path, question)).status).toBeGreaterThanOrEqual(429);
      expect(upstream.requests.length).toBe(before + 1);
    }
  });

  it('includes one answered with a status of `retryStatuses`, retried after its Retry-After', async () => {
    const parley = await behind(upstream.baseUrl, { engine: { ...retrying, retryStatuses: [429] } });
    upstream.answer(path, failure(429, { 'retry-after': '1' }), failure(429), json(completion()));
    const before = upstream.requests.length;
    const startedAt = performance.now();
    expect((await parley.postJson(path, question)).status).toBe(200);
    expect(performance.now() - startedAt).toBeGreaterThan(950);
    expect(upstream.requests.length).toBe(before + 3);
    upstream.answer(path, failure(503));
    expect((await parley.postJson(path, question)).status).toBe(503);
    expect(upstream.requests.length).toBe(before + 4);
  });

  it('is retried after the milliseconds that the upstream names', async () => {
    const parley = await behind(upstream.baseUrl, { engine: { ...retrying, retryStatuses: [429] } });
    upstream.answer(path, failure(429, { 'retry-after-ms': '300', 'retry-after': '60' }), json(completion()));
    const startedAt = performance.now();
    expect((await parley.postJson(path, question)).status).toBe(200);
    expect(performance.now() - startedAt).toBeGreaterThan(290);
  });

  it('is not retried if Retry-After is long', async () => {
    const parley = await behind(upstream.baseUrl, { engine: { ...retrying, retryStatuses: [429] } });
    upstream.answer(path, failure(429, { 'retry-after': '60' }));
    const before = upstream.requests.length;
    const response = await parley.postJson(path, question);
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '60']);
    expect(upstream.requests.length).toBe(before + 1);
  });

  it('is not retried once its client has left', async () => {
    const parley = await behind(upstream.baseUrl, { engine: { ...retrying, retryStatuses: [429] } });
    upstream.answer(path, failure(429, { 'retry-after': '1' }), json(completion()));
    const before = upstream.requests.length;
    const client = new AbortController();
    const asked = parley.postJson(path, question, { signal: client.signal });
    await upstream.nextRequest();
    await new Promise((resolve) => setTimeout(resolve, 200));
    client.abort();
    await expect(asked).rejects.toThrow();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(upstream.requests.length).toBe(before + 1);
  });
});

describe('an upstream that repeatedly cannot be reached', () => {
  const engine = { ...quick, breakerFailures: 3, breakerOpenMs: 600 };

  async function stopped(options: BehindOptions = {}) {
    const down = await startScriptedUpstream();
    afterTest(() => down.stop().catch(() => undefined));
    down.answer(path, json(completion()));
    await down.stop();
    const parley = await behind(down.baseUrl, { engine, ...options });
    const engines = async () =>
      ((await (await fetch(new URL('/readyz', parley.baseUrl))).json()) as { engines: unknown }).engines;
    return { down, engines, ask: () => parley.postJson(path, question) };
  }

  it('gets no calls for a while, then one trial, and is back if that succeeds', async () => {
    const { down, ask } = await stopped();
    for (let round = 0; round < 3; round++) expect((await ask()).status).toBe(502);
    await down.listen();
    expect(await errorOf(await ask())).toMatchObject({ status: 502, code: 'upstream_error' });
    expect(down.connections).toBe(0);
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect((await ask()).status).toBe(200);
    expect((await Promise.all([ask(), ask(), ask()])).map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it('is not one that closes connections before an answer, as one client may cause that', async () => {
    const { down, engines, ask } = await stopped();
    await down.listen();
    down.answer(path, resetAtOnce);
    for (let round = 0; round < 5; round++) expect((await ask()).status).toBe(502);
    expect(await engines()).toEqual({ up: 1, down: 0 });
    down.answer(path, json(completion()));
    expect((await ask()).status).toBe(200);
  });

  it('counts as down in /readyz, while the server stays ready', async () => {
    const { down, engines, ask } = await stopped();
    expect(await engines()).toEqual({ up: 1, down: 0 });
    for (let round = 0; round < 3; round++) await ask();
    expect(await engines()).toEqual({ up: 0, down: 1 });
    await down.listen();
    await new Promise((resolve) => setTimeout(resolve, 700));
    await ask();
    expect(await engines()).toEqual({ up: 1, down: 0 });
  });

  it('is logged once when the breaker opens, tries and closes', async () => {
    const { log, lines } = keptLog();
    const { down, ask } = await stopped({ log });
    for (let round = 0; round < 5; round++) await ask();
    await down.listen();
    await new Promise((resolve) => setTimeout(resolve, 700));
    await ask();
    await ask();
    const logged = lines
      .filter(({ message }) => message !== 'an upstream failed')
      .map(({ message }) => message);
    expect(logged).toEqual([
      'the upstream cannot be reached; calls to it fail at once',
      'trying the upstream again',
      'the upstream can be reached again',
    ]);
    expect(JSON.stringify(lines[0]?.fields['err'])).toContain('ECONNREFUSED');
  });

  it('is available again as soon as the trial has a connection, however long the answer takes', async () => {
    const { down, ask } = await stopped();
    for (let round = 0; round < 3; round++) await ask();
    await down.listen();
    down.answer(path, json(completion(), { afterMs: 300 }));
    await new Promise((resolve) => setTimeout(resolve, 700));
    const trial = ask();
    await down.nextRequest();
    expect((await ask()).status).toBe(200);
    expect((await trial).status).toBe(200);
  });

  it('gets no calls again if the trial fails', async () => {
    const { down, ask } = await stopped();
    for (let round = 0; round < 3; round++) await ask();
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect((await ask()).status).toBe(502);
    await down.listen();
    expect((await ask()).status).toBe(502);
    expect(down.connections).toBe(0);
  });

  it('is not an upstream that answers with any status, nor a slow one', async () => {
    const parley = await behind(upstream.baseUrl, { engine });
    for (const answer of [failure(400), failure(429), failure(500), failure(503), silence]) {
      upstream.answer(path, answer);
      for (let round = 0; round < 4; round++) await parley.postJson(path, question);
      upstream.answer(path, json(completion()));
      expect((await parley.postJson(path, question)).status).toBe(200);
    }
  });
});

describe('too many requests at once', () => {
  const engine = { callsMax: 2, callQueueMax: 1, retriesMax: 0 };

  it('wait for a free slot; one beyond the queue is a 503 with Retry-After', async () => {
    const parley = await behind(upstream.baseUrl, { engine });
    const ask = () => parley.postJson(path, question);
    upstream.answer(path, json(completion(), { afterMs: 500 }));
    const before = upstream.requests.length;
    const waiting = [ask(), ask(), ask()];
    await expect.poll(() => upstream.requests.length).toBe(before + 2);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const refused = await ask();
    expect(await errorOf(refused)).toMatchObject({ status: 503, code: 'overloaded' });
    expect(refused.headers.get('retry-after')).toBe('1');
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(upstream.requests.length).toBe(before + 3);
  });

  it('free their slots in every way of ending', async () => {
    const parley = await behind(upstream.baseUrl, { engine: { ...quick, ...engine } });
    const endings: Answer[] = [
      json(completion()),
      failure(400),
      resetAtOnce,
      silence,
      events(chunks('a')),
      eventText(text(chunk({ content: 'a' })), { ending: 'reset' }),
      eventText(['data: oops\n\n'], { ending: 'stall' }),
      eventText([...text(...chunks('a')), 'data: [DONE]\n\n'], { ending: 'stall' }),
    ];
    for (const answer of endings) {
      upstream.answer(path, answer);
      for (const stream of [true, false, true]) {
        await (await parley.postJson(path, { ...question, stream })).text();
      }
    }
    upstream.answer(path, endless(text(chunk({ content: 'a' })).join(''), eventStream));
    for (let round = 0; round < 3; round++) {
      const client = new AbortController();
      const { signal } = client;
      await (await parley.postJson(path, { ...question, stream: true }, { signal })).body?.getReader().read();
      client.abort();
      await upstream.requests.at(-1)?.aborted;
    }
    upstream.answer(path, json(completion()));
    expect(
      (await Promise.all([1, 2].map(() => parley.postJson(path, question)))).map(({ status }) => status),
    ).toEqual([200, 200]);
  });
});

describe('a client that leaves', () => {
  /** Sends a request, leaves at `stage`, and waits until the upstream has noticed. */
  async function leave(
    answer: Answer,
    stream: boolean,
    stage: (asked: Promise<Response>) => Promise<unknown>,
  ) {
    upstream.answer(path, answer);
    const client = new AbortController();
    const seen = upstream.nextRequest();
    const asked = ask({ stream }, { signal: client.signal });
    asked.catch(() => undefined);
    const request = await seen;
    await stage(asked);
    client.abort();
    await request.aborted;
  }
  const atOnce = async () => undefined;
  const afterRead = async (asked: Promise<Response>) => (await asked).body?.getReader().read();

  it.each<[string, Answer, boolean, (asked: Promise<Response>) => Promise<unknown>]>([
    ['before the first byte of a plain answer', silence, false, atOnce],
    ['before the first byte of a stream', silence, true, atOnce],
    [
      'within a plain answer',
      pieces(['{'], { headers: { 'content-type': 'application/json' }, ending: 'stall' }),
      false,
      () => new Promise((resolve) => setTimeout(resolve, 50)),
    ],
    [
      'within a stream that pauses',
      eventText(text(chunk({ content: 'a' })), { ending: 'stall' }),
      true,
      afterRead,
    ],
    [
      'within a stream that flows',
      endless(text(chunk({ content: 'a' })).join(''), eventStream),
      true,
      afterRead,
    ],
  ])('%s ends the request of its upstream', async (_, answer, stream, stage) => {
    for (let round = 0; round < 5; round++) await leave(answer, stream, stage);
  });

  it('while it is queued leaves the queue, and never reaches the upstream', async () => {
    const parley = await behind(upstream.baseUrl, { engine: { callsMax: 1, callQueueMax: 1 } });
    upstream.answer(path, json(completion(), { afterMs: 400 }));
    const before = upstream.requests.length;
    const first = parley.postJson(path, question);
    await upstream.nextRequest();
    const client = new AbortController();
    const second = parley.postJson(path, question, { signal: client.signal });
    second.catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 50));
    client.abort();
    await new Promise((resolve) => setTimeout(resolve, 50));
    const third = parley.postJson(path, question);
    expect([(await first).status, (await third).status]).toEqual([200, 200]);
    expect(upstream.requests.length).toBe(before + 2);
  });

  it('while connecting never reaches the upstream', async () => {
    const mute = await startMuteServer();
    afterTest(() => mute.close());
    const parley = await behind(`https://127.0.0.1:${mute.port}/v1`, {
      engine: { callsMax: 1, callQueueMax: 0 },
    });
    const client = new AbortController();
    const asked = parley.postJson(path, question, { signal: client.signal });
    asked.catch(() => undefined);
    await expect.poll(() => mute.connections).toBe(1);
    client.abort();
    await new Promise((resolve) => setTimeout(resolve, 50));
    await expect
      .poll(async () => (await parley.app.store.usage.list({}, { size: 10, after: undefined })).items[0])
      .toMatchObject({ state: 'cancelled' });
  });
});
