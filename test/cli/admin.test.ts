import { readdirSync, statSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  parley,
  parleyProcess,
  printed,
  printedJson,
  type Serving,
  scratchFolder,
  serve,
} from '../support/command-line.ts';

interface Account {
  readonly id: string;
  readonly name: string;
  readonly balance: string;
  readonly balance_nano_credits: number;
  readonly subscription: { readonly state: string };
}

interface Issued {
  readonly key: {
    readonly id: string;
    readonly account_id?: string;
    readonly scopes?: string[];
    readonly expires_at?: string;
  };
  readonly secret: string;
}

const secretPattern = /^p[ka]_[0-9a-z]{57}\n$/;

/** Admin commands must work the same on a data folder and on a server. */
interface Place {
  readonly flags: readonly string[];
  close(): Promise<void>;
}

async function onFolder(): Promise<Place> {
  const folder = scratchFolder();
  return { flags: ['--data-dir', folder.file('data')], close: async () => folder.remove() };
}

async function besideServer(): Promise<Place> {
  const folder = scratchFolder();
  const flags = ['--data-dir', folder.file('data')];
  const adminKey = (await printed(['key', 'create', '--admin', ...flags])).trim();
  const server = await serve(flags);
  return {
    flags: [...flags, '--admin-key', adminKey],
    close: async () => {
      await server.close();
      folder.remove();
    },
  };
}

describe.each([
  ['on a data folder without a server', onFolder],
  ['beside the server of the data folder', besideServer],
])('the admin commands, %s', (_, open) => {
  let place: Place;
  beforeAll(async () => {
    place = await open();
  });
  afterAll(() => place.close());

  const run = (...args: string[]) => parley([...args, ...place.flags]);
  const text = (...args: string[]) => printed([...args, ...place.flags]);
  const json = <T>(...args: string[]) => printedJson<T>([...args, ...place.flags]);

  it('create an account, show it by name and id, and list it', async () => {
    const made = await json<Account>('account', 'create', 'acme');
    expect(made).toMatchObject({ name: 'acme', balance: '0', subscription: { state: 'none' } });
    expect(await json('account', 'show', 'acme')).toEqual(made);
    expect(await json('account', 'show', made.id)).toEqual(made);
    expect(await json<{ accounts: Account[] }>('account', 'list', '--state', 'none')).toEqual({
      accounts: [made],
      totals: { accounts: 1, balance_nano_credits: 0, balance: '0' },
    });
    expect(await text('account', 'list')).toMatch(
      /^NAME +ID +SUBSCRIPTION.*\nacme +acc_\w+ +none +0 +0 of 0 /,
    );
    expect(await text('account', 'show', 'acme')).toMatch(/^name +acme\nid +acc_/);
  });

  it('refuse to use a name twice, in one line with the code, and exit with 1', async () => {
    const { code, stdout, stderr } = await run('account', 'create', 'acme');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^There is already an account named `acme`\. .*\(invalid_parameter.*\)\n$/);
  });

  it('limit an account and its keys, and show the used amounts', async () => {
    await run('account', 'create', 'limited');
    await text('account', 'limits', 'limited', '--budget-per-month', '20', '--requests-per-minute', '60');
    expect(await text('account', 'show', 'limited')).toMatch(
      /\nrequests per minute +60\n.*credits per month +0 of 20, from 0 again at \d{4}-/s,
    );
    const made = await json<Issued>('key', 'create', '--account', 'limited', '--models', 'gpt-*,eliza');
    const set = ['--addresses', '10.0.0.0/8', '--tokens-per-minute', '500'];
    const shown = await text('key', 'limits', made.key.id, ...set);
    expect(shown).toMatch(/\nmodels +-\naddresses +10\.0\.0\.0\/8\n.*tokens per minute +500\n/s);
    expect(await text('key', 'limits', made.key.id, '--none')).toMatch(/\nlimits +none\n/);
    const { code, stderr } = await run('key', 'limits', made.key.id);
    expect([code, stderr]).toEqual([2, expect.stringContaining('give the limits, or --none')]);
  });

  it('rename, suspend, resume and delete an account', async () => {
    await run('account', 'create', 'short-lived');
    expect(await json('account', 'rename', 'short-lived', 'renamed')).toMatchObject({ name: 'renamed' });
    expect(await text('account', 'suspend', 'renamed')).toMatch(/\nsuspended +\d{4}-/);
    expect(await text('account', 'resume', 'renamed')).not.toContain('suspended');
    expect(await text('account', 'delete', 'renamed', '--yes')).toMatch(/\ndeleted +\d{4}-/);
    expect((await run('account', 'suspend', 'renamed')).code).toBe(1);
  });

  it('start a trial once, and open and end the plan', async () => {
    expect(await text('plan', 'start-trial', 'acme')).toMatch(/^subscription +trial until \d{4}-\d\d-\d\d$/m);
    expect((await run('plan', 'start-trial', 'acme')).code).toBe(1);
    const plan = await json<Account>('plan', 'activate', 'acme', '--until', '30d');
    expect(plan.subscription.state).toBe('active');
    expect(await text('plan', 'end', 'acme', '--yes')).toMatch(/^subscription +ended on /m);
  });

  it('load and adjust credits, once for each idempotency key, and show the ledger', async () => {
    const load = [
      'credits',
      'load',
      'acme',
      '2.5',
      '--reason',
      'Invoice 7',
      '--idempotency-key',
      'invoice-7',
    ];
    expect((await json<Account>(...load)).balance_nano_credits).toBe(2_500_000_000);
    expect((await json<Account>(...load)).balance).toBe('2.5');
    await text('credits', 'adjust', 'acme', '-0.5', '--reason', 'Too much');
    await text('credits', 'load', 'acme', '1', '--reason', 'Gift');
    await text('credits', 'load', 'acme', '1', '--reason', 'Gift');
    expect(await text('credits', 'show', 'acme')).toBe('4\n');
    const { entries } = await json<{ entries: { kind: string; amount: string }[] }>(
      'credits',
      'ledger',
      'acme',
    );
    expect(entries.map(({ kind, amount }) => [kind, amount])).toEqual([
      ['load', '1'],
      ['load', '1'],
      ['adjustment', '-0.5'],
      ['load', '2.5'],
    ]);
    expect(await text('credits', 'ledger', 'acme', '--limit', '1')).toMatch(
      /^TIME.*\n.* load +1 +Gift .*\n$/,
    );
  });

  it('show the statement of a month', async () => {
    const month = new Date().toISOString().slice(0, 7);
    expect(await text('statement', 'acme', '--month', month)).toMatch(
      /\nmonth +\S+, which has not ended\n[\s\S]*\nload +- +- +3 +4\.5\nadjustment +- +- +1 +-0\.5\n\nopening balance +0\nclosing balance +4\n$/,
    );
    expect(await json('statement', 'acme', '--month', '2020-01')).toMatchObject({
      is_final: true,
      closing: '0',
      lines: [],
    });
  });

  it('show the balance when an adjustment would take more', async () => {
    const { code, stderr } = await run('credits', 'adjust', 'acme', '-100', '--reason', 'Too much');
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /^The balance is 4 credits: no more than that can be taken\. \(insufficient_credits/,
      ),
    ]);
  });

  it('say that there are no usage records', async () => {
    const none = await run('usage', '--account', 'acme');
    expect(none.code).toBe(0);
    expect(none.stdout).toMatch(/^TIME \(UTC\) .*\n$/);
    expect(none.stderr).toBe('No usage records found.\n');
    expect((await run('usage', '--account', 'acme', '--json')).stderr).toBe('');
  });

  it('create a key, and print only its secret on standard output', async () => {
    const { stdout, stderr } = await run('key', 'create', '--account', 'acme');
    expect(stdout).toMatch(secretPattern);
    expect(stderr).toMatch(/^key_\w+: keep the key\. It is not shown again\.\n$/);
    const issued = await json<Issued>(
      ...[
        'key',
        'create',
        '--account',
        'acme',
        '--name',
        'phone',
        '--scopes',
        'chat,speech',
        '--expires',
        '2099-01-31',
      ],
    );
    expect(issued.key).toMatchObject({
      name: 'phone',
      scopes: ['speech', 'chat'],
      expires_at: '2099-01-31T00:00:00Z',
    });
  });

  it('rotate a key with an overlap, revoke it, and list the state of each', async () => {
    const old = await json<Issued>('key', 'create', '--account', 'acme', '--name', 'old');
    const fresh = await json<Issued>('key', 'rotate', old.key.id, '--overlap', '24h');
    expect(fresh.secret).not.toBe(old.secret);
    expect((await run('key', 'rotate', fresh.key.id, '--overlap', '31d')).code).toBe(1);
    expect(await text('key', 'revoke', fresh.key.id, '--yes')).toMatch(/^revoked +\d{4}-/m);
    const { keys } = await json<{ keys: { id: string; revoked_at?: string; expires_at?: string }[] }>(
      ...['key', 'list', '--account', 'acme'],
    );
    const hoursLeft =
      (Date.parse(keys.find(({ id }) => id === old.key.id)?.expires_at ?? '') - Date.now()) / 3_600_000;
    expect(hoursLeft).toBeGreaterThan(23.9);
    expect(hoursLeft).toBeLessThanOrEqual(24);
    expect(keys.find(({ id }) => id === fresh.key.id)?.revoked_at).toBeDefined();
    const table = await text('key', 'list', '--account', 'acme');
    expect(table).toMatch(/^NAME +ID +KEY +SCOPES +STATE /);
    expect(table).toMatch(/old +key_\w+ +pk_….{4} .* revoked /);
    expect(table).not.toContain(old.secret.slice(4, -4));
  });

  it('create and list admin keys', async () => {
    expect(await text('key', 'create', '--admin', '--name', 'ops')).toMatch(/^pa_/);
    expect(await text('key', 'create', '--admin', '--name', 'shop', '--scopes', 'credits:load')).toMatch(
      /^pa_/,
    );
    const table = await text('key', 'list', '--admin');
    expect(table).toMatch(/^ops +key_\w+ +pa_…\w{4} +all /m);
    expect(table).toMatch(/^shop +key_\w+ +pa_…\w{4} +credits:load /m);
  });

  it('show usage records and the audit trail', async () => {
    expect(await json('usage', '--account', 'acme')).toEqual({ records: [] });
    expect(await text('usage')).toMatch(
      /^TIME \(UTC\) +ACCOUNT +OPERATION +MODEL +STATE +CODE +TOOK +AMOUNT +UNITS +CREDITS +ID\n$/,
    );
    const { entries } = await json<{ entries: { action: string }[] }>('audit', '--limit', '1000');
    expect(entries.map(({ action }) => action)).toContain('account.create');
    expect(entries.at(-1)?.action).toMatch(/create/);
    expect(await text('audit', '--limit', '2')).toMatch(/^TIME .*\n.*\n.*\n$/);
  });

  it('say in one line what does not exist', async () => {
    const { code, stdout, stderr } = await run('credits', 'show', 'nobody');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^There is no such account: `nobody`\. List the accounts .*\(not_found.*\)\n$/);
  });
});

describe('the admin commands', () => {
  const folder = scratchFolder();
  const flags = ['--data-dir', folder.file('data')];
  let server: Serving;
  beforeAll(async () => {
    server = await serve([...flags, '--demo']);
  });
  afterAll(async () => {
    await server.close();
    folder.remove();
  });

  it('use the admin key of the first start if none is given', async () => {
    expect(await printed(['account', 'list', ...flags])).toContain('demo');
    expect(await printed(['account', 'list', '--name', 'EM', ...flags])).toContain('demo');
    expect(await printed(['account', 'list', '--name', 'nobody', ...flags])).not.toContain('demo');
  });

  it('show each request, its outcome and its cost', async () => {
    const [here, audio] = [{ cwd: folder.path }, folder.file('hello.wav')];
    await printed(['speak', 'Hello there.', '-o', audio, ...flags], here);
    await printed(['chat', 'I am sad.', ...flags], here);
    await parley(['speak', 'Hello there.', '-o', audio, '--voice', 'nobody', ...flags], here);
    const lines = (await printed(['usage', ...flags])).split('\n');
    const line = (text: string) => lines.find((candidate) => candidate.includes(text)) ?? '';
    expect(line(' ok ')).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}demo /);
    expect(line(' speech ')).toContain('refused');
    expect(lines.findLast((candidate) => candidate.includes(' speech '))).toMatch(
      / speech +flite +ok +- +\d+\.\d\d s +12 characters +12 +- +req_\w+$/,
    );
    expect(line('eliza')).toMatch(
      / chat +eliza +ok +- +\d+\.\d\d s +\d+ \+ \d+ tokens +- +0\.0000\d+ +req_\w+$/,
    );
    expect(line('unknown_voice')).toMatch(/ speech +flite +refused +unknown_voice /);
    const { records } = await printedJson<{ records: { id: string; state: string; operation: string }[] }>([
      ...['usage', '--account', 'demo', '--state', 'ok', '--operation', 'speech', '--since', '1h', ...flags],
    ]);
    expect(records.map(({ state, operation }) => [state, operation])).toEqual([['ok', 'speech']]);
    const id = records[0]?.id ?? '';
    expect(await printedJson(['usage', '--id', id, ...flags])).toMatchObject({ records: [{ id }] });
    expect(await printed(['usage', 'show', id, ...flags])).toMatch(
      /^id +req_\w+\n(.*\n)*state +ok\nHTTP status +200\nengine +builtin\n(.*\n)*amount +12 characters\nunits +12\n/,
    );
    const refused = / (req_\w+)$/.exec(line('unknown_voice'))?.[1] ?? '';
    expect(await printed(['usage', 'show', refused, ...flags])).toMatch(/\ncode +unknown_voice\n/);
    const selected = ['--code', 'unknown_voice', '--status', '400'];
    expect((await printed(['usage', ...selected, ...flags])).split('\n')).toHaveLength(3);
    const unknown = await parley(['usage', 'show', `${refused.slice(0, -4)}0000`, ...flags], here);
    expect([unknown.code, unknown.stderr]).toEqual([
      1,
      expect.stringContaining('with a valid key have records'),
    ]);
    const day = new Date().toISOString().slice(0, 10);
    const until = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    const byEngine = ['--by', 'engine,code', '--since', day, '--until', until];
    expect(await printed(['usage', 'totals', ...byEngine, ...flags])).toMatch(/^builtin +- +\d/m);
    const csv = (await printed(['usage', 'export', '--csv', '--operation', 'speech', ...flags])).split(
      '\r\n',
    );
    expect(csv[0]).toMatch(/^id,account_id,key_id,operation,model,/);
    expect(csv[1]).toMatch(/^req_[^,]+,acc_[^,]+,key_[^,]+,speech,flite,/);
    const jsonl = (await printed(['usage', 'export', '--jsonl', ...flags])).trim().split('\n');
    expect(jsonl.map((line) => JSON.parse(line).id.slice(0, 4))).toContain('req_');
    expect(await printedJson(['usage', '--since', '2099-01-01', ...flags])).toEqual({ records: [] });
    expect((await printed(['usage', '--limit', '1', ...flags])).split('\n')).toHaveLength(3);
  });

  it('take the server and its key from the environment', async () => {
    const { secret } = await printedJson<Issued>(['key', 'create', '--admin', ...flags]);
    const env = { PARLEY_BASE_URL: server.baseUrl, PARLEY_ADMIN_KEY: secret };
    expect(await printed(['account', 'show', 'demo'], { env, cwd: folder.file('data') })).toContain('demo');
    expect(readdirSync(folder.file('data'))).not.toContain('data');
  });

  it('do not give the keys of a data folder to another server', async () => {
    const { code, stderr } = await parley(['account', 'list', ...flags, '--base-url', 'http://127.0.0.1:9']);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^The server at http:\/\/127\.0\.0\.1:9\/api\/v1 needs an admin key\. .*--admin-key/,
    );
  });

  it('show the request id of a refusal by a server', async () => {
    const { stderr } = await parley(['account', 'show', 'nobody', ...flags]);
    expect(stderr).toMatch(/\(not_found, request req_[0-9a-f]+\)\n$/);
    const wrongKey = await parley(['account', 'list', ...flags, '--admin-key', 'pa_wrong']);
    expect(wrongKey.stderr).toMatch(/\(invalid_api_key, request req_[0-9a-f]+\)\n$/);
  });

  it('say what to do if no server answers', async () => {
    const { code, stderr } = await parley([
      ...['account', 'list', '--base-url', 'http://127.0.0.1:9', '--admin-key', 'pa_any'],
    ]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^No server answers at http:\/\/127\.0\.0\.1:9\/api\/v1\. Start one with `parley serve`.*\n$/,
    );
  });

  it('do not create a data folder only to read it', async () => {
    const missing = folder.file('missing');
    const { code, stderr } = await parley(['account', 'list', '--data-dir', missing]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^There is no data folder .*missing yet\. .*--data-dir/);
    expect(statSync(missing, { throwIfNoEntry: false })).toBeUndefined();
  });

  it('wait for their turn if several run on one data folder', async () => {
    const shared = ['--data-dir', folder.file('shared')];
    const names = ['a', 'b', 'c', 'd'];
    await Promise.all(names.map((name) => parleyProcess(['account', 'create', name, ...shared])));
    const { accounts } = await printedJson<{ accounts: Account[] }>(['account', 'list', ...shared]);
    expect(accounts.map(({ name }) => name).sort()).toEqual(names);
  });
});
