/** Exports for other programs: the audit trail, all data of an account, and costs in the form of FOCUS. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { readPage } from '../clients/page.ts';
import { inShell, noTerminal, parleyAtTerminal, printed, parley as run } from '../support/command-line.ts';
import { startParley, TestClock } from '../support/parley.ts';

const clock = new TestClock();
const parley = await startParley({ clock });
const boss = ['--base-url', parley.baseUrl, '--admin-key', parley.adminKey];
const chat = { model: 'eliza', messages: [{ role: 'user', content: 'Hello.' }] };
for (let at = 0; at < 2; at++) await (await parley.postJson('/chat/completions', chat)).arrayBuffer();
await (await parley.postJson('/audio/speech', { model: 'flite', input: 'Hello.' })).arrayBuffer();
await (await parley.postJson('/audio/speech', { model: 'nothing', input: 'Hello.' })).arrayBuffer();
afterAll(() => parley.close());

interface Line {
  readonly id: string;
  readonly kind: string;
  readonly action: string;
  readonly details: object;
  readonly data: Readonly<Record<string, string>>;
}

const linesOf = (text: string) =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
const audit = async (...flags: string[]) => linesOf(await printed(['audit', 'export', ...flags, ...boss]));

it('the audit trail is followed by a cursor: each entry once, the oldest first, a minute late', async () => {
  clock.nowMs += 60_001;
  const before = await audit();
  await printed(['account', 'create', 'followed', ...boss]);
  expect(await audit()).toEqual(before);
  clock.nowMs += 60_001;
  const first = await audit();
  expect(first.at(-1)).toMatchObject({ action: 'account.create', details: { name: 'followed' } });
  expect(first.map(({ id }) => id)).toEqual(first.map(({ id }) => id).sort());
  await printed(['account', 'suspend', 'followed', ...boss]);
  clock.nowMs += 1;
  await printed(['account', 'resume', 'followed', ...boss]);
  const last = first.at(-1)?.id ?? '';
  expect(await audit('--after', last)).toEqual([]);
  clock.nowMs += 60_001;
  const actions = (await audit('--after', last)).map(({ action }) => action);
  expect(actions).toEqual(['account.suspend', 'account.resume']);
});

it('a cursor is the id of an entry, and no page token', async () => {
  const refused = async (query: string) => (await parley.admin(`/audit?${query}`)).status;
  expect(await refused('after=acc_1')).toBe(400);
  expect(await refused(`after=&page_token=aud_${'0'.repeat(32)}`)).toBe(400);
});

it('an account is exported with everything that is stored about it', async () => {
  const lines = linesOf(await printed(['account', 'export', parley.accountId, ...boss]));
  const counts = Object.entries(Object.groupBy(lines, ({ kind }) => kind)).map(([kind, of]) => [
    kind,
    of?.length,
  ]);
  expect(Object.fromEntries(counts)).toMatchObject({
    account: 1,
    alert_settings: 1,
    key: 1,
    ledger_entry: 3,
    usage_record: 4,
    usage_total: 2,
  });
  const of = (kind: string) => lines.filter((line) => line.kind === kind).map(({ data }) => data);
  expect(of('usage_record').map(({ account_id }) => account_id)).toEqual(Array(4).fill(parley.accountId));
  const own = [parley.accountId, ...of('key').map(({ id }) => id)];
  expect(of('audit_entry').length).toBeGreaterThan(1);
  for (const { target } of of('audit_entry')) expect(own).toContain(target);
  expect(JSON.stringify(lines)).not.toContain(parley.apiKey);
});

it('a deleted account is exported by its id', async () => {
  await printed(['account', 'create', 'gone', ...boss]);
  const [row] = linesOf(await printed(['account', 'export', 'gone', ...boss]));
  await printed(['account', 'delete', 'gone', '--yes', ...boss]);
  const lines = linesOf(await printed(['account', 'export', row?.data['id'] ?? '', ...boss]));
  expect(lines[0]?.data).toMatchObject({ name: row?.data['id'] });
  expect(lines.map(({ kind }) => kind)).toEqual(['account', 'audit_entry', 'audit_entry']);
});

it('usage and cost are exported by day, key and model in the form of FOCUS', async () => {
  const price = ['--currency', 'EUR', '--credit-price', '0.9'];
  const text = await printed(['usage', 'focus', '--provider', 'Acme, Inc.', ...price, ...boss]);
  const [head = '', ...rows] = text.trimEnd().split('\r\n');
  expect(rows).toHaveLength(2);
  const cells = rows.map((row) => {
    const values = row.match(/("[^"]*"|[^,]*)(,|$)/g)?.map((cell) => cell.replace(/,$/, ''));
    return Object.fromEntries(head.split(',').map((name, at) => [name, values?.[at]]));
  });
  const speech = cells.find(({ SkuId }) => SkuId === 'speech/flite');
  expect(speech).toMatchObject({ EffectiveCost: '0.0', ConsumedQuantity: '6.0', ConsumedUnit: 'Characters' });
  const chat = cells.find(({ SkuId }) => SkuId === 'chat/eliza');
  const { records } = (await (await parley.call('/usage?operation=chat')).json()) as {
    records: { cost_nano_credits: number; total_tokens: number }[];
  };
  const nano = records.reduce((sum, { cost_nano_credits }) => sum + cost_nano_credits, 0);
  expect(Number(chat?.['EffectiveCost'])).toBeCloseTo((nano * 0.9) / 1e9, 12);
  expect(chat).toMatchObject({
    BilledCost: '0.0',
    BillingPeriodStart: '2026-11-01T00:00:00Z',
    BillingPeriodEnd: '2026-12-01T00:00:00Z',
    ChargePeriodStart: '2026-11-10T00:00:00Z',
    ChargePeriodEnd: '2026-11-11T00:00:00Z',
    ConsumedQuantity: `${records.reduce((sum, { total_tokens }) => sum + total_tokens, 0)}.0`,
    ProviderName: '"Acme, Inc."',
    x_Requests: '2',
  });
});

it('the commands of docs/storage.md work, one after the other', async () => {
  const page = readPage('../storage');
  const cwd = mkdtempSync(join(tmpdir(), 'parley-exports-'));
  await printed(['account', 'create', 'acme', ...boss]);
  clock.nowMs += 60_001;
  for (const name of ['export', 'audit', 'focus', 'erase']) {
    const { code, stderr } = await inShell(
      `program="$*"; parley() { $program "$@"; }; ${page.command(name)}`,
      { cwd, env: { PARLEY_BASE_URL: new URL(parley.baseUrl).origin, PARLEY_ADMIN_KEY: parley.adminKey } },
    );
    expect([code, stderr]).toEqual([0, '']);
  }
  const linesIn = (file: string) => readFileSync(join(cwd, file), 'utf8').split('\n').length - 1;
  expect(linesIn('acme.jsonl')).toBe(3);
  expect(linesIn('audit.jsonl')).toBe((await audit()).length);
  expect(linesIn('focus.csv')).toBe(3);
  expect((await run(['account', 'show', 'acme', ...boss])).code).toBe(1);
  rmSync(cwd, { recursive: true });
});

it.skipIf(noTerminal !== undefined)(
  `no export writes control characters to a terminal${noTerminal ? ` (skipped: ${noTerminal})` : ''}`,
  async () => {
    const model = '\u001b]0;title\u0007\u009b31mred';
    await (await parley.postJson('/chat/completions', { ...chat, model })).arrayBuffer();
    const [account] = JSON.parse(await printed(['account', 'list', '--json', ...boss])).accounts;
    for (const command of [
      ['usage', 'export', '--csv'],
      ['usage', 'export', '--jsonl'],
      ['usage', '--json'],
      ['account', 'export', account.name],
    ]) {
      const name = command.join(' ');
      expect(await printed([...command, ...boss]), name).toContain('\u009b31mred');
      const terminal = parleyAtTerminal([...command, ...boss]);
      await terminal.ended;
      expect(terminal.shown(), name).toContain('31mred');
      // biome-ignore lint/suspicious/noControlCharactersInRegex: finds control characters
      expect(terminal.shown(), name).not.toMatch(/[\u0007\u001b\u009b]/);
    }
  },
);

it('a price that is no decimal is refused', async () => {
  const flags = ['--provider', 'a', '--currency', 'EUR', '--credit-price'];
  for (const price of ['-1', 'much', '1e3']) {
    expect((await run(['usage', 'focus', ...flags, price, ...boss])).code).toBe(2);
  }
});
