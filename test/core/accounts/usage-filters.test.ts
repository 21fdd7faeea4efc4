/** Usage records by filter and page, and the audit trail of every change by an administrator. */
import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ChatCompletionSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { ParleyError } from '../../../src/core/values/errors.ts';
import { fakeChat, fakeSpeech, withFakes } from '../../support/fake-engines.ts';
import { bearer, errorOf, startParley, TestClock } from '../../support/parley.ts';

type Json = Record<string, unknown>;

const secondMs = 1000;
const clock = new TestClock(Date.UTC(2026, 4, 1, 12));
const usage = { promptTokens: 7, completionTokens: 3, totalTokens: 10 };
let fails = false;
const engines = withFakes({
  chat: fakeChat({
    complete: async () => {
      if (fails) throw new ParleyError('upstream_error');
      const choices = [{ message: { role: 'assistant' }, finishReason: 'stop' }];
      return create(ChatCompletionSchema, { choices, usage });
    },
  }),
  speech: fakeSpeech({
    synthesize: () => ({
      audio: (async function* () {
        yield Buffer.alloc(10, 1);
      })(),
      durationMs: () => 10,
    }),
  }),
});

const parley = await startParley({ engines, clock });
afterAll(() => parley.close());

interface Page {
  readonly records: { readonly id: string; readonly operation: string }[];
  readonly next_page_token?: string;
}
const isoTime = (ms: number) => new Date(ms).toISOString();

describe('GET /usage and GET /admin/usage', () => {
  let key: string;
  let otherKey: string;
  let accountId: string;
  const startMs = clock.nowMs;
  /** Ids of the requests by their kind, one per second, oldest first. */
  const made: { id: string; what: string; key: string }[] = [];

  const ask = async (what: string, by: string): Promise<Response> => {
    fails = what === 'chat failed';
    const model = what === 'chat refused' ? 'other' : 'eliza';
    if (what === 'models') return parley.call('/models', bearer(by));
    if (what === 'speech')
      return parley.postJson('/audio/speech', { model: 'flite', input: 'Hi.' }, bearer(by));
    const body = { model, messages: [{ role: 'user', content: 'Hi.' }] };
    return parley.postJson('/chat/completions', body, bearer(by));
  };
  beforeAll(async () => {
    key = await parley.newKey({ trial: true, credits: '1' });
    otherKey = await parley.newKey({ trial: true, credits: '1' });
    const account = (await (await parley.call('/account', bearer(key))).json()) as { id: string };
    accountId = account.id;
    clock.nowMs = startMs + 100 * secondMs;
    const kinds = ['chat', 'speech', 'chat failed', 'models', 'chat refused'];
    for (let turn = 0; turn < 10; turn++) {
      const what = kinds[turn % kinds.length] ?? '';
      for (const by of [key, otherKey]) {
        const response = await ask(what, by);
        await response.arrayBuffer();
        made.push({ id: response.headers.get('x-request-id') ?? '', what, key: by });
      }
      clock.nowMs += secondMs;
    }
  });

  /** Requests 0 to 9 begin at seconds 100 to 109. */
  const atTurn = (turn: number) => isoTime(startMs + (100 + turn) * secondMs);
  const newestFirst = (wanted: (what: string, turn: number) => boolean, by: string | undefined) =>
    made
      .filter(
        (request, index) =>
          wanted(request.what, Math.floor(index / 2)) && (by ?? request.key) === request.key,
      )
      .map(({ id }) => id)
      .reverse();
  /** Leaves out the records of calls that read records, and earlier records. */
  const idsOf = ({ records }: Page) =>
    records.filter(({ operation }) => operation !== 'account').map(({ id }) => id);
  const read = async (path: string, by: string, query: Record<string, string>): Promise<Page> => {
    const response = await parley.call(`${path}?${new URLSearchParams(query)}`, bearer(by));
    expect(response.status).toBe(200);
    return (await response.json()) as Page;
  };

  const filters: [string, Record<string, string>, (what: string, turn: number) => boolean][] = [
    ['nothing', {}, () => true],
    ['an operation', { operation: 'chat' }, (what) => what.startsWith('chat')],
    ['the catalog', { operation: 'catalog' }, (what) => what === 'models'],
    ['a model', { model: 'flite' }, (what) => what === 'speech'],
    ['a model that was asked for and is none', { model: 'other' }, (what) => what === 'chat refused'],
    ['a state', { state: 'failed' }, (what) => what === 'chat failed'],
    ['a state that nothing is in', { state: 'interrupted' }, () => false],
    ['a start', { start_time: atTurn(6) }, (_, turn) => turn >= 6],
    ['an end, itself left out', { end_time: atTurn(3) }, (_, turn) => turn < 3],
    ['a span', { start_time: atTurn(2), end_time: atTurn(7) }, (_, turn) => turn >= 2 && turn < 7],
    ['a span of nothing', { start_time: atTurn(5), end_time: atTurn(5) }, () => false],
    [
      'all of them',
      { start_time: atTurn(1), end_time: atTurn(9), operation: 'chat', model: 'eliza', state: 'ok' },
      (what, turn) => what === 'chat' && turn >= 1 && turn < 9,
    ],
    ['what excludes each other', { operation: 'speech', model: 'eliza' }, () => false],
  ];

  it.each(filters)('give the holder their own records by %s, newest first', async (_, query, wanted) => {
    expect(idsOf(await read('/usage', key, query))).toEqual(newestFirst(wanted, key));
  });

  it.each(filters)(
    'give the administrator the records of an account, or of all, by %s',
    async (_, query, wanted) => {
      const admin = parley.adminKey;
      const one = await read('/admin/usage', admin, { ...query, account_id: accountId });
      expect(idsOf(one)).toEqual(newestFirst(wanted, key));
      // Records of the same millisecond have no defined order.
      const every = idsOf(await read('/admin/usage', admin, query));
      expect(every.toSorted()).toEqual(newestFirst(wanted, undefined).toSorted());
    },
  );

  it('find one record by the id of its request, for its holder and for the administrator', async () => {
    const [mine, theirs] = made;
    if (mine === undefined || theirs === undefined) throw new Error('nothing was requested');
    expect(idsOf(await read('/usage', key, { id: mine.id }))).toEqual([mine.id]);
    expect(idsOf(await read('/usage', key, { id: theirs.id }))).toEqual([]);
    expect(idsOf(await read('/admin/usage', parley.adminKey, { id: theirs.id }))).toEqual([theirs.id]);
  });

  it('sum the records for their holder', async () => {
    const response = await parley.call('/usage/totals?group_by=operation&group_by=state', bearer(key));
    const { totals } = (await response.json()) as { totals: Record<string, unknown>[] };
    expect(totals.filter(({ operation }) => operation === 'chat')).toMatchObject([
      { state: 'failed', requests: 2, prompt_tokens: 0 },
      { state: 'ok', requests: 2, prompt_tokens: 14, completion_tokens: 6 },
      { state: 'refused', requests: 2 },
    ]);
    expect(totals.map(({ account_id }) => account_id)).not.toContain(accountId);
  });

  it.each([1, 2, 3, 5, 6])(
    'give the same in pages of %i, even if records are added meanwhile',
    async (size) => {
      const query = { operation: 'chat', page_size: String(size) };
      const seen: string[] = [];
      let page = await read('/usage', key, query);
      for (;;) {
        expect(page.records.length).toBeLessThanOrEqual(size);
        seen.push(...idsOf(page));
        if (page.next_page_token === undefined) break;
        page = await read('/usage', key, { ...query, page_token: page.next_page_token });
      }
      expect(seen).toEqual(newestFirst((what) => what.startsWith('chat'), key));
    },
  );

  it('never give the holder records of another account, whatever the filter', async () => {
    const asked = await parley.call(`/usage?account_id=${accountId}`, bearer(otherKey));
    expect(await errorOf(asked)).toMatchObject({ status: 404, param: 'account_id' });
    const { records } = await read('/usage', otherKey, {});
    const ids = new Set(made.filter((request) => request.key === key).map(({ id }) => id));
    expect(records.length).toBeGreaterThan(5);
    expect(records.filter(({ id }) => ids.has(id))).toEqual([]);
  });

  it.each([
    ['page_size', '0'],
    ['page_size', '1001'],
    ['page_size', '1.5'],
    ['page_size', 'ten'],
    ['page_size', ''],
    ['page_token', ''],
    ['page_token', 'next'],
    ['page_token', "req_' or 1"],
    ['start_time', 'yesterday'],
    ['start_time', ''],
    ['end_time', '2026-13-01T00:00:00Z'],
    ['operation', 'dance'],
    ['operation', ''],
    ['operation', 'CHAT'],
    ['state', 'done'],
    ['state', ''],
    ['model', ''],
    ['model', ' '],
  ])('refuse the %s %j', async (param, value) => {
    for (const [path, by] of [
      ['/usage', key],
      ['/admin/usage', parley.adminKey],
    ] as const) {
      const response = await parley.call(`${path}?${new URLSearchParams({ [param]: value })}`, bearer(by));
      expect(await errorOf(response), path).toMatchObject({ status: 400, code: 'invalid_parameter', param });
    }
  });
});

describe('the audit trail', () => {
  interface Entry {
    readonly id: string;
    readonly actor: string;
    readonly action: string;
    readonly target: string;
    readonly details: string;
    readonly created_at: string;
  }
  let account: string;
  let accountId: string;
  let actor: string;
  let keyId: string;
  let adminKeyId: string;
  const secrets: string[] = [];

  const call = async (method: string, path: string, body?: Json, by = parley.adminKey) => {
    clock.nowMs += 1;
    const response = await parley.call(`/admin${path}`, {
      method,
      ...bearer(by),
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Json & { key?: { id: string }; secret?: string };
    if (answer.secret) secrets.push(answer.secret);
    return { status: response.status, answer };
  };
  const trail = async () => {
    const { answer } = await call('GET', '/audit?page_size=1000');
    return answer['entries'] as Entry[];
  };
  /** The entries that a call adds. */
  const addedBy = async (...request: Parameters<typeof call>) => {
    const before = await trail();
    const { status, answer } = await call(...request);
    const entries = await trail();
    return { status, answer, added: entries.slice(0, entries.length - before.length) };
  };
  beforeAll(async () => {
    const { answer } = await call('GET', '/keys');
    actor = (answer['keys'] as [{ id: string }])[0].id;
    account = 'audited';
    const made = await call('POST', '/accounts', { name: account });
    accountId = String(made.answer['id']);
    keyId = (await call('POST', '/accounts/audited/keys', { name: 'k' })).answer.key?.id ?? '';
    adminKeyId = (await call('POST', '/keys', { name: 'second' })).answer.key?.id ?? '';
  });

  const money = (amount: string, once: string) => ({ amount, reason: 'Invoice 7', idempotency_key: once });
  const changes: [string, string, () => string, Json, () => string | undefined][] = [
    ['account.create', 'POST', () => '/accounts', { name: 'another' }, () => undefined],
    ['trial.start', 'POST', () => '/accounts/audited/trial', {}, () => accountId],
    [
      'plan.activate',
      'POST',
      () => '/accounts/audited/plan',
      { ends_at: '2030-01-01T00:00:00Z' },
      () => accountId,
    ],
    ['plan.end', 'POST', () => '/accounts/audited/plan/end', {}, () => accountId],
    ['credits.load', 'POST', () => '/accounts/audited/credits', money('5', 'a'), () => accountId],
    ['credits.adjustment', 'POST', () => '/accounts/audited/adjustments', money('-2', 'b'), () => accountId],
    [
      'key.create',
      'POST',
      () => '/accounts/audited/keys',
      { name: 'third', scopes: ['chat'] },
      () => undefined,
    ],
    ['key.create', 'POST', () => '/keys', { name: 'fourth' }, () => undefined],
    ['key.rotate', 'POST', () => `/keys/${keyId}/rotate`, { overlap_seconds: 60 }, () => keyId],
    ['key.revoke', 'POST', () => `/keys/${keyId}/revoke`, {}, () => keyId],
  ];

  it.each(changes)('has one entry of %s: %s', async (action, method, path, body, target) => {
    const { status, answer, added } = await addedBy(method, path(), body);
    expect(status).toBe(200);
    const id = target() ?? answer.key?.id ?? answer['id'];
    expect(added).toEqual([
      {
        id: expect.stringMatching(/^aud_/),
        actor,
        action,
        target: id,
        details: expect.any(String),
        created_at: expect.stringMatching(/^2026-05-01T12:/),
      },
    ]);
    expect(typeof JSON.parse(added[0]?.details ?? '')).toBe('object');
  });

  it('names the change, and which of several administrators made it', async () => {
    const { answer } = await call('POST', '/keys', { name: 'fifth' });
    const { added } = await addedBy('POST', '/accounts/audited/credits', money('2.5', 'c'), answer.secret);
    expect(added).toMatchObject([{ actor: answer.key?.id, action: 'credits.load' }]);
    expect(JSON.parse(added[0]?.details ?? '')).toEqual({
      amount: '2.5',
      reason: 'Invoice 7',
      reference: 'c',
    });
  });

  it.each<[string, string, () => string, Json]>([
    ['an account of a name that is taken', 'POST', () => '/accounts', { name: 'audited' }],
    ['an account without a name', 'POST', () => '/accounts', {}],
    ['a second trial', 'POST', () => '/accounts/audited/trial', {}],
    ['a plan into the past', 'POST', () => '/accounts/audited/plan', { ends_at: '2020-01-01T00:00:00Z' }],
    ['the end of a plan that has ended', 'POST', () => '/accounts/audited/plan/end', {}],
    ['a load that was made before', 'POST', () => '/accounts/audited/credits', money('5', 'a')],
    ['a load under the key of another', 'POST', () => '/accounts/audited/credits', money('6', 'a')],
    ['a load of less than nothing', 'POST', () => '/accounts/audited/credits', money('-1', 'd')],
    ['an adjustment that was made before', 'POST', () => '/accounts/audited/adjustments', money('-2', 'b')],
    ['an adjustment below what there is', 'POST', () => '/accounts/audited/adjustments', money('-9', 'e')],
    ['a key of unknown scopes', 'POST', () => '/accounts/audited/keys', { name: 'x', scopes: ['all'] }],
    ['a key of an account that there is not', 'POST', () => '/accounts/nobody/keys', { name: 'x' }],
    ['the rotation of a revoked key', 'POST', () => `/keys/${keyId}/rotate`, {}],
    ['the revocation of a revoked key', 'POST', () => `/keys/${keyId}/revoke`, {}],
    ['the revocation of a key that there is not', 'POST', () => '/keys/key_none/revoke', {}],
    ['reading', 'GET', () => '/accounts/audited/ledger', {}],
  ])('has no entry of %s', async (_, method, path, body) => {
    const { added } = await addedBy(method, path(), method === 'GET' ? undefined : body);
    expect(added).toEqual([]);
  });

  it('has no entry for a call with an account’s key or without a key', async () => {
    for (const by of [parley.apiKey, 'nothing']) {
      const { status, added } = await addedBy('POST', '/accounts', { name: 'mine' }, by);
      expect([status, added]).toEqual([by === 'nothing' ? 401 : 403, []]);
    }
  });

  it('has no secret and no hash of a secret', async () => {
    expect(adminKeyId).toMatch(/^key_/);
    expect(secrets.length).toBeGreaterThan(4);
    const text = JSON.stringify(await trail());
    for (const secret of secrets) expect(text).not.toContain(secret);
    expect(text).not.toMatch(/p[ka]_[0-9a-z]{20}|[0-9a-f]{64}/);
  });

  it('is filtered by author, text and time, also page by page', async () => {
    const of = async (query: string) =>
      (await call('GET', `/audit?page_size=1000&${query}`)).answer['entries'] as Entry[];
    const entries = await trail();
    const [newest, , third] = entries;
    if (newest === undefined || third === undefined) throw new Error('there are too few entries');
    expect(await of(`actor=${newest.actor}`)).toEqual(entries.filter(({ actor }) => actor === newest.actor));
    expect(await of('actor=nobody')).toEqual([]);
    const created = entries.filter((entry) => /key\.create/i.test(JSON.stringify(entry)));
    expect(created.length).toBeGreaterThan(1);
    expect(await of('search=KEY.create')).toEqual(created);
    expect(await of('search=%25')).toEqual(
      entries.filter((entry) => JSON.stringify(entry.details).includes('%')),
    );
    expect(await of(`end_time=${newest.created_at}`)).not.toContainEqual(newest);
    expect(await of(`start_time=${third.created_at}`)).toContainEqual(third);
    expect((await of(`start_time=${third.created_at}`)).length).toBeLessThan(entries.length);
    expect(await of('end_time=1969-01-01T00:00:00Z')).toEqual([]);
    const { answer } = await call('GET', '/audit?page_size=1&search=key.create');
    const next = `page_token=${answer['next_page_token']}&search=key.create`;
    expect(await of(next)).toEqual(created.slice(1));
    expect((await call('GET', '/audit?search=%20')).status).toBe(400);
    expect((await call('GET', '/audit?after=&search=key')).status).toBe(400);
  });

  it('is read newest first, page by page', async () => {
    const entries = await trail();
    expect(entries.map(({ created_at }) => created_at)).toEqual(
      entries
        .map(({ created_at }) => created_at)
        .toSorted()
        .reverse(),
    );
    const first = await call('GET', '/audit?page_size=4');
    const rest = await call('GET', `/audit?page_size=1000&page_token=${first.answer['next_page_token']}`);
    expect([...(first.answer['entries'] as Entry[]), ...(rest.answer['entries'] as Entry[])]).toEqual(
      entries,
    );
  });
});
