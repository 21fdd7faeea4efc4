/** The number of keys of an account: its limit, and their lists by pages. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LimitedParley, startLimited, type WantedLimits } from '../../support/limited-parley.ts';
import { bearer, errorOf, TestClock } from '../../support/parley.ts';

interface KeyJson {
  readonly id: string;
  readonly revoked_at?: string;
}
interface Issued {
  readonly key: KeyJson;
  readonly secret: string;
}
interface KeysPage {
  readonly keys: readonly KeyJson[];
  readonly next_page_token?: string;
}

const keysPerAccountMax = 5;
let parley: LimitedParley;
let boss: Issued;
beforeEach(async () => {
  parley = await startLimited({ clock: new TestClock(), settings: { limits: { keysPerAccountMax } } });
  const body = { name: 'boss', scopes: ['chat', 'manage'] };
  boss = await made(await parley.admin(`/accounts/account-1/keys`, body));
});
afterEach(() => parley.close());

async function made(answer: Response): Promise<Issued> {
  expect(answer.status).toBe(200);
  return (await answer.json()) as Issued;
}

const post = (path: string, body: object = {}) => parley.postJson(path, body, bearer(boss.secret));
const create = (more: { readonly limits?: WantedLimits; readonly expires_at?: string } = {}) =>
  post('/keys', { name: 'a', ...more });
const page = async (path: string, key = boss.secret) =>
  (await (await parley.call(path, bearer(key))).json()) as KeysPage;

describe('the keys of an account', () => {
  it('are limited, even if several callers create them at once', async () => {
    const byOperator = () => parley.admin('/accounts/account-1/keys', { name: 'b' });
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? create() : byOperator())),
    );
    // The key of the test and the key of the caller are two of the five.
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
    const refused = answers.find(({ status }) => status === 400);
    expect(await errorOf(refused as Response)).toMatchObject({
      code: 'too_many_keys',
      message: 'The account has reached its limit of 5 working keys. Revoke one first.',
    });
    expect((await page('/keys')).keys).toHaveLength(5);
    const audit = await parley.admin('/audit?page_size=1000');
    const { entries } = (await audit.json()) as { entries: { actor: string; action: string }[] };
    const actors = entries.filter(({ action }) => action === 'key.create').map(({ actor }) => actor);
    expect(actors.filter((actor) => actor !== 'cli')).toHaveLength(4);
  });

  it('make room for others when they are revoked or have expired', async () => {
    const expires = new Date(parley.clock.nowMs + 60_000).toISOString();
    const [one] = await Promise.all([made(await create()), made(await create({ expires_at: expires }))]);
    await made(await create());
    expect((await create()).status).toBe(400);
    expect((await post(`/keys/${one.key.id}/revoke`)).status).toBe(200);
    await made(await create());
    expect((await create()).status).toBe(400);
    parley.clock.nowMs += 60_000;
    await made(await create());
    expect((await create()).status).toBe(400);
  });

  it('are replaced at the limit, but not with an overlap', async () => {
    const { key } = await made(await create());
    await made(await create());
    await made(await create());
    const beside = await post(`/keys/${key.id}/rotate`, { overlap_seconds: 60 });
    expect(await errorOf(beside)).toMatchObject({ code: 'too_many_keys' });
    const both = await Promise.all([post(`/keys/${key.id}/rotate`), post(`/keys/${key.id}/rotate`)]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 400]);
    const { keys } = await page('/keys');
    expect(keys.filter(({ revoked_at }) => revoked_at === undefined)).toHaveLength(5);
  });

  it('are listed page by page, oldest first, for their holders and for administrators', async () => {
    await made(await create());
    await made(await create());
    const adminKeys = await page('/admin/keys?page_size=1', parley.adminKey);
    expect(adminKeys.keys).toHaveLength(1);
    for (const [path, key] of [
      ['/keys', boss.secret],
      ['/admin/accounts/account-1/keys', parley.adminKey],
    ] as const) {
      const all = (await page(path, key)).keys.map(({ id }) => id);
      expect(all).toHaveLength(4);
      expect(all).toEqual(all.toSorted());
      const first = await page(`${path}?page_size=3`, key);
      const rest = await page(`${path}?page_size=3&page_token=${first.next_page_token}`, key);
      expect([...first.keys, ...rest.keys].map(({ id }) => id)).toEqual(all);
      expect(rest.next_page_token).toBeUndefined();
    }
  });
});
