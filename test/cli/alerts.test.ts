/** Commands that an API key runs for its own account, and an administrator for any: alerts, usage and ledger. */
import { writeFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { parley, printed, printedJson, scratchFolder, serve } from '../support/command-line.ts';
import { codeIn, startMailServer } from '../support/mail-server.ts';
import { startReceiver } from '../support/webhook-receiver.ts';

const folder = scratchFolder();
const dataFlags = ['--data-dir', folder.file('data'), '--config', folder.file('parley.yaml')];
const receiver = await startReceiver();
const mails = await startMailServer();
writeFileSync(
  folder.file('parley.yaml'),
  `alerts: {allowedNetworks: [127.0.0.1], smtp: {host: 127.0.0.1, port: ${mails.port}, tls: none, from: parley@example.com}}\n`,
);
const adminKey = (await printed(['key', 'create', '--admin', ...dataFlags])).trim();
for (const name of ['acme', 'other']) await printed(['account', 'create', name, ...dataFlags]);
await printed(['credits', 'load', 'acme', '25', '--reason', 'r', ...dataFlags]);
const server = await serve(dataFlags);
const boss = ['--base-url', server.baseUrl, '--admin-key', adminKey];
const create = ['key', 'create', '--account', 'acme', '--scopes', 'chat,manage'];
const secret = (await printed([...create, ...dataFlags, '--admin-key', adminKey])).trim();
const holder = ['--base-url', server.baseUrl, '--api-key', secret];
afterAll(async () => {
  await server.close();
  await receiver.close();
  await mails.close();
  folder.remove();
});

describe('parley alerts', () => {
  it('are set, tested, listed and removed by a holder', async () => {
    expect(await printed(['alerts', 'show', ...holder])).toBe('No alerts are set.\n');
    const set = ['alerts', 'set', '--webhook', `${receiver.origin}/a`, '--balance-below', '5', ...holder];
    expect(await printed(set)).toMatch(
      /^webhook +http:\S+\nsecret +whsec_\S+\npercents +50, 80, 100\nbalance below +5\n$/,
    );
    expect(await printed(['alerts', 'show', ...holder])).not.toContain('whsec_');
    expect(await printed(['alerts', 'test', ...holder])).toMatch(/\ndelivery +delivered\n$/);
    expect(receiver.received).toMatchObject([{ path: '/a', alert: { type: 'test' } }]);
    expect(await printed(['alerts', 'list', ...holder])).toMatch(/ test +- +A test +delivered +1 +-\n$/);
    expect(await printed(['alerts', 'set', '--none', ...holder])).toBe('No alerts are set.\n');
  });

  it('name the option that is wrong', async () => {
    const { code, stderr } = await parley(['alerts', 'set', '--webhook', 'ftp://example.com', ...holder]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('`--webhook`')]);
    expect(stderr).not.toContain('settings.');
    const alone = [
      'alerts',
      'set',
      'acme',
      '--webhook',
      'http://example.com',
      '--data-dir',
      folder.file('alone'),
    ];
    await printed(['account', 'create', 'acme', '--data-dir', folder.file('alone')]);
    expect((await parley(alone)).stderr).toMatch(/^`--webhook` must begin with `https:/);
  });

  it('are set by an administrator for any account', async () => {
    expect(await printed(['alerts', 'set', 'other', '--percents', '90,70', ...boss])).toMatch(
      /^webhook +-\npercents +70, 90\nbalance below +-\n$/,
    );
    expect(await printedJson(['alerts', 'list', 'other', ...boss])).toEqual({ alerts: [] });
    const { code, stderr } = await parley(['alerts', 'test', 'other', ...boss]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('The alerts have no destination.')]);
  });

  it('go by mail, to Slack or to Matrix', async () => {
    const set = ['alerts', 'set', 'other', ...boss];
    expect(await printed([...set, '--mail', 'ops@example.com, desk@example.com'])).toMatch(
      /^mail +desk@example\.com, ops@example\.com\nwaits for confirmation +desk@example\.com \(code sent \d/,
    );
    const confirm = ['alerts', 'confirm', 'other', ...boss];
    const desk = mails.received.find(({ to }) => to[0] === 'desk@example.com');
    expect(await printed([...confirm, '--code', codeIn(desk)])).toBe('confirmed  desk@example.com\n');
    expect((await parley([...confirm, '--code', codeIn(desk)])).stderr).toContain('This code is not valid.');
    const again = [...confirm, '--send-again', 'ops@example.com'];
    expect((await parley(again)).stderr).toContain('within the last minute');
    expect((await parley(confirm)).stderr).toContain('give either --code or --send-again');
    expect(await printed(['alerts', 'show', 'other', ...boss])).toMatch(
      /^mail +desk@example\.com, ops@example\.com\nwaits for confirmation +ops@example\.com \(/,
    );
    expect(await printed([...set, '--slack', `${receiver.origin}/slack`])).toMatch(
      /^slack +http:\S+\/slack\n/,
    );
    expect(await printed(['alerts', 'test', 'other', ...boss])).toMatch(/\ndelivery +delivered\n$/);
    expect(receiver.received.at(-1)).toMatchObject({ path: '/slack', alert: { text: 'other: A test.' } });
    writeFileSync(folder.file('token'), 'syt_secret\n');
    const room = ['--matrix', '!a:example.com', '--homeserver', receiver.origin];
    const shown = /^matrix +!a:example\.com at http:\S+\npercents +50, 80, 100\n/;
    expect(await printed([...set, ...room, '--token-file', folder.file('token')])).toMatch(shown);
    expect(await printed([...set, ...room])).toMatch(shown);
  });

  it('say which setting lets them into a private network', async () => {
    for (const url of ['http://10.1.2.3/', 'https://10.1.2.3/', 'http://example.com/']) {
      const { code, stderr } = await parley(['alerts', 'set', '--webhook', url, ...holder]);
      expect([url, code]).toEqual([url, url.includes('example') ? 0 : 1]);
      if (code === 1) expect(stderr).toContain('`alerts.allowedNetworks`');
    }
  });

  it('refuse a setting without a value, and another account', async () => {
    expect((await parley(['alerts', 'set', ...holder])).stderr).toContain('give --none, or any of --webhook');
    const two = ['alerts', 'set', '--webhook', 'https://a.invalid', '--mail', 'a@b.invalid'];
    expect((await parley([...two, ...holder])).stderr).toContain('give only one of --webhook');
    const alone = ['alerts', 'set', '--matrix', '!a:b.invalid'];
    expect((await parley([...alone, ...holder])).stderr).toContain('give --matrix and --homeserver together');
    const missing = [...alone, '--homeserver', 'https://b.invalid', '--token-file', folder.file('none')];
    expect((await parley([...missing, ...holder])).stderr).toContain('cannot be read (');
    const strange = await parley(['usage', '--own', '--account', 'other', ...holder]);
    expect(strange.stderr).toContain('The API key belongs to another account, `acme`.');
  });
});

describe('an API key', () => {
  it('shows balance, ledger and usage of its account', async () => {
    expect(await printed(['credits', 'show', ...holder])).toBe('25\n');
    expect(await printed(['credits', 'show', 'acme', ...boss])).toBe('25\n');
    expect(await printed(['credits', 'ledger', ...holder])).toMatch(/ load +25 +r +/);
    expect(await printed(['usage', '--own', '--limit', '3', ...holder])).toContain(' account ');
    expect(await printed(['usage', 'totals', '--own', '--by', 'operation', ...holder])).toMatch(
      /^OPERATION .*\naccount +\d/,
    );
    expect(await printed(['usage', 'export', '--own', '--csv', ...holder])).toMatch(/^id,.*\r\nreq_/);
  });
});
