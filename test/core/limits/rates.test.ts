/** Requests, tokens and concurrency of keys and accounts, over REST. */
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CatalogService } from '../../../gen/parley/catalog/v1/catalog_service_pb.ts';
import { ParleyError } from '../../../src/core/values/errors.ts';
import { countStatuses, type LimitedParley, startLimited } from '../../support/limited-parley.ts';
import { bearer, errorOf } from '../../support/parley.ts';
import { testsPostgres } from '../../support/store-folder.ts';

/** For events that take a moment, on a machine that may be busy. */
const soon = { timeout: 120_000 };

/** test/store/postgres/rates.test.ts sets the time of the database. */
const otherMinute = testsPostgres ? ' (skipped: the minute is that of the database)' : '';

let parley: LimitedParley;
beforeEach(async () => {
  parley = await startLimited();
  parley.engine.completionTokens = 1;
});
afterEach(() => parley.close());

const header = (answer: Response, name: string) => answer.headers.get(name);

describe('requests per minute', () => {
  it.skipIf(testsPostgres)(
    `are as many as the limit, then wait for the next minute of the clock${otherMinute}`,
    async () => {
      const key = await parley.keyWith({ requestsPerMinute: 3 });
      parley.clock.nowMs = Date.UTC(2026, 10, 10, 12, 0, 48);
      const answers = await Promise.all(Array.from({ length: 8 }, () => key.chat(1)));
      expect(countStatuses(answers)).toEqual({ 200: 3, 429: 5 });
      const refused = await key.chat(1);
      expect(header(refused, 'retry-after')).toBe('12');
      expect(await errorOf(refused)).toMatchObject({
        code: 'rate_limit_exceeded',
        type: 'rate_limit_error',
        message: 'This API key may send 3 requests per minute. Try again in 12 seconds.',
      });
      parley.clock.nowMs = Date.UTC(2026, 10, 10, 12, 0, 59, 999);
      expect((await key.chat(1)).status).toBe(429);
      parley.clock.nowMs += 1;
      expect((await key.chat(1)).status).toBe(200);
    },
  );

  it('do not start again when the clock is set back', async () => {
    const key = await parley.keyWith({ requestsPerMinute: 1 });
    expect((await key.chat(1)).status).toBe(200);
    parley.clock.nowMs -= 3_600_000;
    expect((await key.chat(1)).status).toBe(429);
  });

  it('of an account are shared by its keys', async () => {
    await parley.setAccountLimits({ requestsPerMinute: 2 });
    const [one, other] = [await parley.keyWith({}), await parley.keyWith({ requestsPerMinute: 5 })];
    expect((await one.chat(1)).status).toBe(200);
    expect((await other.chat(1)).status).toBe(200);
    const { message } = await errorOf(await one.chat(1));
    expect(message).toContain('The account may send 2 requests per minute.');
  });

  it('leave the catalog and the account open, and leave a record of a refusal', async () => {
    const key = await parley.keyWith({ requestsPerMinute: 0 });
    const refused = await key.chat(1);
    expect(refused.status).toBe(429);
    expect(await parley.recordOf(refused)).toMatchObject({ state: 'refused', code: 'rate_limit_exceeded' });
    const models = await parley.call('/models', bearer(key.secret));
    expect(models.status).toBe(200);
    expect(header(models, 'x-ratelimit-limit-requests')).toBe('0');
  });

  it('continue under a key that replaces another', async () => {
    const key = await parley.keyWith({ requestsPerMinute: 1 });
    expect((await key.chat(1)).status).toBe(200);
    const rotated = await parley.admin(`/keys/${key.id}/rotate`, {});
    const { secret } = (await rotated.json()) as { secret: string };
    const again = await parley.postJson('/chat/completions', { model: 'm', messages: [] }, bearer(secret));
    expect(again.status).toBe(429);
  });
});

describe('headers', () => {
  it('carry the limits of key and account, and the remaining amounts', async () => {
    parley.clock.nowMs = Date.UTC(2026, 10, 10, 12, 0, 20);
    await parley.setAccountLimits({ requestsPerMinute: 10 });
    const key = await parley.keyWith({ requestsPerMinute: 60, tokensPerMinute: 5000 });
    parley.engine.promptTokens = 30;
    const answer = await key.chat(20);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'x-ratelimit-limit-requests': '10',
      'x-ratelimit-remaining-requests': '9',
      'x-ratelimit-reset-requests': '40s',
      'x-ratelimit-limit-tokens': '5000',
      'x-ratelimit-remaining-tokens': '4969',
      'x-ratelimit-reset-tokens': '40s',
      'ratelimit-policy':
        '"key-requests";q=60;w=60, "key-tokens";q=5000;qu="tokens";w=60, "account-requests";q=10;w=60',
      ratelimit: '"key-requests";r=59;t=40, "key-tokens";r=4969;t=40, "account-requests";r=9;t=40',
    });
  });

  it('are in the initial metadata of gRPC', async () => {
    const key = await parley.keyWith({ requestsPerMinute: 60 });
    const transport = createGrpcTransport({ baseUrl: new URL(parley.baseUrl).origin });
    const head = Promise.withResolvers<Headers>();
    const options = { headers: { authorization: `Bearer ${key.secret}` }, onHeader: head.resolve };
    await createClient(CatalogService, transport).listModels({}, options);
    expect((await head.promise).get('x-ratelimit-limit-requests')).toBe('60');
  });

  it('are absent without limits', async () => {
    const answer = await parley.call('/models');
    expect([...answer.headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([]);
  });
});

describe('requests at once', () => {
  it('are as many as the limit', async () => {
    const key = await parley.keyWith({ concurrentRequests: 2 });
    const { promise, resolve } = Promise.withResolvers<void>();
    parley.engine.goesOn = promise;
    const running = [key.chat(1), key.chat(1)];
    await vi.waitFor(() => expect(parley.engine.running).toBe(2), soon);
    const refused = await key.chat(1);
    expect(await errorOf(refused)).toMatchObject({ code: 'rate_limit_exceeded', status: 429 });
    expect(header(refused, 'retry-after')).toBe('1');
    resolve();
    expect(countStatuses(await Promise.all(running))).toEqual({ 200: 2 });
    expect((await key.chat(1)).status).toBe(200);
  });

  it('end with a failure, a refusal and a client that leaves', async () => {
    const key = await parley.keyWith({ concurrentRequests: 1 });
    parley.engine.fails = true;
    expect((await key.chat(1)).status).toBe(500);
    expect((await key.chat(1, 'unknown')).status).toBe(400);
    parley.engine.fails = false;
    const { promise, resolve } = Promise.withResolvers<void>();
    parley.engine.goesOn = promise;
    const leaving = new AbortController();
    const left = parley.postJson(
      '/chat/completions',
      { model: 'm', messages: [{ role: 'user', content: 'a' }], max_tokens: 1 },
      { ...bearer(key.secret), signal: leaving.signal },
    );
    await vi.waitFor(() => expect(parley.engine.running).toBe(1), soon);
    leaving.abort();
    await expect(left).rejects.toThrow();
    resolve();
    await vi.waitFor(async () => expect((await key.chat(1)).status).toBe(200), soon);
  });

  it('end with a request whose end cannot be written yet', async () => {
    const key = await parley.keyWith({ concurrentRequests: 1 });
    const settle = vi.spyOn(parley.app.store.requests, 'settle');
    settle.mockRejectedValue(new ParleyError('overloaded'));
    expect((await key.chat(1)).status).toBe(503);
    settle.mockRestore();
    await vi.waitFor(async () => expect((await key.chat(1)).status).toBe(200), soon);
  });
});

describe('tokens per minute', () => {
  it('are reserved with the longest answer and corrected at the end', async () => {
    const key = await parley.keyWith({ tokensPerMinute: 1000 });
    const { promise, resolve } = Promise.withResolvers<void>();
    parley.engine.goesOn = promise;
    const running = key.chat(700, 'free-1');
    await vi.waitFor(() => expect(parley.engine.running).toBe(1), soon);
    const refused = await key.chat(700, 'free-1');
    expect(await errorOf(refused)).toMatchObject({ code: 'rate_limit_exceeded' });
    expect(header(refused, 'retry-after')).toBe('60');
    parley.engine.promptTokens = 4;
    resolve();
    expect((await running).status).toBe(200);
    const next = await key.chat(700, 'free-1');
    expect(next.status).toBe(200);
    expect(header(next, 'x-ratelimit-remaining-tokens')).toBe('990');
  });

  it('are too few, not the credits, for an answer with more thinking than the model has', async () => {
    const { secret } = await parley.keyWith({ tokensPerMinute: 800 });
    const thinking = { type: 'enabled', budget_tokens: 5000 };
    const body = { model: 'free-1', messages: [{ role: 'user', content: 'a' }], thinking };
    const refused = await parley.postJson('/chat/completions', body, bearer(secret));
    expect(await errorOf(refused)).toMatchObject({ code: 'rate_limit_exceeded' });
  });

  it('of a failed chat come back', async () => {
    const key = await parley.keyWith({ tokensPerMinute: 1000 });
    parley.engine.fails = true;
    expect(header(await key.chat(500, 'free-1'), 'x-ratelimit-remaining-tokens')).toBe('1000');
  });

  it.skipIf(testsPostgres)(
    `limit an answer that a whole minute does not cover, but not to very few tokens${otherMinute}`,
    async () => {
      const key = await parley.keyWith({ tokensPerMinute: 800 });
      parley.engine.completionTokens = 100;
      const first = await key.chat(undefined, 'free-1');
      expect(first.status).toBe(200);
      const [limit = 0] = parley.engine.outputLimits;
      expect(limit).toBeGreaterThan(600);
      expect(limit).toBeLessThan(800);
      parley.engine.completionTokens = 500;
      expect((await key.chat(undefined, 'free-1')).status).toBe(200);
      expect((await key.chat(undefined, 'free-1')).status).toBe(429);
      parley.clock.nowMs += 60_000;
      expect((await key.chat(undefined, 'free-1')).status).toBe(200);
    },
  );

  it('do not affect speech', async () => {
    const key = await parley.keyWith({ tokensPerMinute: 800 });
    parley.engine.completionTokens = 500;
    expect((await key.chat(undefined, 'free-1')).status).toBe(200);
    await parley.admin(`/keys/${key.id}/limits`, { limits: { tokens_per_minute: 1 } });
    const spoken = await key.speak('hello');
    expect(spoken.status).toBe(200);
    expect((await parley.recordOf(spoken))?.fairUseUnits).toBe(5);
  });

  it.skipIf(testsPostgres)(
    `of a request that began in an earlier minute count in the minute of their reservation${otherMinute}`,
    async () => {
      const key = await parley.keyWith({ tokensPerMinute: 1000 });
      const { promise, resolve } = Promise.withResolvers<void>();
      parley.engine.goesOn = promise;
      const running = key.chat(500, 'free-1');
      await vi.waitFor(() => expect(parley.engine.running).toBe(1), soon);
      parley.clock.nowMs += 60_000;
      parley.engine.goesOn = Promise.resolve();
      expect((await key.chat(500, 'free-1')).status).toBe(200);
      resolve();
      const answer = await running;
      expect(answer.status).toBe(200);
      expect(header(answer, 'x-ratelimit-remaining-tokens')).toBe('998');
    },
  );
});

describe('models and addresses', () => {
  it('that are not allowed are refused, and not listed', async () => {
    const key = await parley.keyWith({ models: ['free-*', 'voice'] });
    expect((await key.chat(1, 'free-1')).status).toBe(200);
    const refused = await key.chat(1);
    expect(await errorOf(refused)).toMatchObject({ code: 'insufficient_scope', param: 'model', status: 403 });
    expect((await key.speak('hello')).status).toBe(200);
    expect(await errorOf(await key.transcribe())).toMatchObject({ code: 'insufficient_scope' });
    const models = (await (await parley.call('/models', bearer(key.secret))).json()) as {
      data: { id: string }[];
    };
    expect(models.data.map(({ id }) => id)).toEqual(['free-1', 'voice']);
  });

  it('are checked for both key and account', async () => {
    await parley.setAccountLimits({ models: ['free-*'] });
    const key = await parley.keyWith({ models: ['m', 'free-*'] });
    expect(await errorOf(await key.chat(1))).toMatchObject({
      message: expect.stringContaining('The limits of the account do not allow the model `m`.'),
    });
    expect((await key.chat(1, 'free-1')).status).toBe(200);
  });

  describe('are checked before an Idempotency-Key that another key of the account has used', () => {
    const messages = [{ role: 'user', content: 'a' }];
    const ask = (path: string, body: string | FormData, { secret }: { secret: string }) => {
      const headers = { authorization: `Bearer ${secret}`, 'idempotency-key': 'shared' };
      return parley.call(path, { method: 'POST', body, headers });
    };

    it.each([
      ['/chat/completions', { model: 'm', max_tokens: 1, messages }],
      ['/responses', { model: 'm', max_output_tokens: 1, input: 'a' }],
      ['/messages', { model: 'm', max_tokens: 1, messages }],
      ['/completions', { model: 'm', max_tokens: 1, prompt: 'a' }],
      ['/audio/speech', { model: 'voice', input: 'a', response_format: 'pcm' }],
      ['/audio/transcriptions', undefined],
    ])('for an answer of %s', async (path, request) => {
      const [owner, restricted] = [await parley.keyWith({}), await parley.keyWith({ models: ['free-*'] })];
      const recording = new FormData();
      recording.append('file', new Blob(['RIFF a recording']), 'a.wav');
      const body = request ? JSON.stringify(request) : recording;
      const first = await ask(path, body, owner);
      expect(first.status).toBe(200);
      const refused = await ask(path, body, restricted);
      expect(await errorOf(refused)).toMatchObject({ code: 'insufficient_scope', status: 403 });
      expect(await parley.recordOf(refused)).toMatchObject({ state: 'refused' });
      await first.arrayBuffer();
      expect(header(await ask(path, body, owner), 'idempotent-replayed')).toBe('true');
      expect((await ask(path, body, restricted)).status).toBe(403);
    });

    it('for a request that still runs', async () => {
      const [owner, restricted] = [await parley.keyWith({}), await parley.keyWith({ models: ['free-*'] })];
      const running = Promise.withResolvers<void>();
      parley.engine.goesOn = running.promise;
      const chat = (key: { secret: string }) =>
        ask('/chat/completions', JSON.stringify({ model: 'm', max_tokens: 1, messages }), key);
      const first = chat(owner);
      await vi.waitFor(() => expect(parley.engine.running).toBe(1), soon);
      expect((await chat(restricted)).status).toBe(403);
      expect((await chat(owner)).status).toBe(409);
      running.resolve();
      expect((await first).status).toBe(200);
    });
  });

  it('let a key be used from its addresses only', async () => {
    const here = await parley.keyWith({ addresses: ['127.0.0.0/8', '::1'] });
    const elsewhere = await parley.keyWith({ addresses: ['192.0.2.0/24'] });
    expect((await here.chat(1)).status).toBe(200);
    const refused = await elsewhere.chat(1);
    expect(await errorOf(refused)).toMatchObject({ code: 'insufficient_scope', status: 403 });
    expect((await parley.call('/account', bearer(elsewhere.secret))).status).toBe(403);
  });
});
