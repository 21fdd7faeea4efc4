/** A server that is killed between an alert and its delivery: the next one delivers it. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Folder, printed, type Serving, scratchFolder, serve } from '../support/command-line.ts';
import { codeIn, type MailServer, startMailServer } from '../support/mail-server.ts';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';
import { verified } from '../support/webhook-signature.ts';

const sealingKey = 'a key that is long enough, and in a file of its own';

let folder: Folder;
let receiver: WebhookReceiver;
let mails: MailServer;
let server: Serving;
beforeEach(async () => {
  folder = scratchFolder();
  receiver = await startReceiver();
  mails = await startMailServer();
  writeFileSync(folder.file('sealing-key'), sealingKey);
  const smtp = { host: '127.0.0.1', port: mails.port, tls: 'none', from: 'parley@example.com' };
  const alerts = { allowedNetworks: ['127.0.0.1'], sealingKeyFile: folder.file('sealing-key'), smtp };
  writeFileSync(folder.file('parley.yaml'), JSON.stringify({ alerts, log: { level: 'trace' } }));
});
afterEach(async () => {
  await server.end();
  await receiver.close();
  await mails.close();
  folder.remove();
});

const start = () => serve(['--config', folder.file('parley.yaml'), '--data-dir', folder.file('data')]);

/** The fields of a destination and its secret; undefined if the server makes it. */
const kinds = {
  webhook: () => ({ settings: { webhook_url: receiver.origin }, own: undefined }),
  mail: () => ({ settings: { mail_addresses: ['ops@example.com'] }, own: undefined }),
  slack: () => ({ settings: { slack_url: `${receiver.origin}/services/slack-secret` }, own: 'slack-secret' }),
  matrix: () => {
    const room = { homeserver_url: receiver.origin, room_id: '!a:example.com' };
    return { settings: { matrix: { ...room, access_token: 'matrix-secret' } }, own: 'matrix-secret' };
  },
} as const;

/** What was sent, without what may differ between attempts. */
function sent(kind: keyof typeof kinds): readonly unknown[] {
  if (kind !== 'mail') return receiver.received.map(({ method, path, body }) => ({ method, path, body }));
  return mails.received.map(({ to, source }) => ({ to, source: source.replace(/^Date: .*$/m, '') }));
}

it.each(['webhook', 'mail', 'slack', 'matrix'] as const)(
  'delivers by %s after a kill, and reveals the secret nowhere',
  async (kind) => {
    const flags = ['--config', folder.file('parley.yaml'), '--data-dir', folder.file('data')];
    const adminKey = (await printed(['key', 'create', '--admin', ...flags])).trim();
    await printed(['account', 'create', 'acme', ...flags]);
    server = await start();
    const boss = () => ['--base-url', server.baseUrl, '--admin-key', adminKey];
    const post = (path: string, body: object) =>
      fetch(`${server.baseUrl}/admin/accounts/acme/alerts/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${adminKey}` },
        body: JSON.stringify(body),
      });
    const { settings, own } = kinds[kind]();
    if (kind === 'mail') {
      await post('settings', { settings });
      await post('addresses/confirm', { code: codeIn(mails.received.pop()) });
    }
    receiver.holds = true;
    mails.holds = true;
    const answer = await post('settings', { settings: { ...settings, balance_below: '5' } });
    const { secret = own } = (await answer.json()) as { secret?: string };
    await expect.poll(() => sent(kind).length).toBe(1);
    server.kill('SIGKILL');
    await server.ended;
    const told = [server.stderr()];
    receiver.holds = false;
    mails.holds = false;
    server = await start();
    await expect.poll(() => sent(kind).length).toBe(2);
    const [first, second] = sent(kind);
    expect(second).toEqual(first);
    if (kind === 'webhook') {
      expect(receiver.received[1]?.alert).toMatchObject({ type: 'credits.low', balance: '0' });
      for (const one of receiver.received) expect(verified(secret ?? '', one)).toBe(true);
    }
    const list = () => printed(['alerts', 'list', 'acme', ...boss()]);
    await expect.poll(list).toMatch(/ credits\.low .* delivered +2 /);
    told.push(server.stderr(), await list());
    // The settings show the URL of Slack to those who may set it.
    if (kind !== 'slack') told.push(await printed(['alerts', 'show', 'acme', '--json', ...boss()]));
    told.push(await printed(['audit', '--json', ...boss()]));
    await server.close();
    for (const name of readdirSync(folder.file('data'))) {
      told.push(readFileSync(`${folder.file('data')}/${name}`, 'latin1'));
    }
    if (secret === undefined) return;
    const bare = secret.replace('whsec_', '');
    expect(told.filter((text) => text.includes(bare))).toEqual([]);
  },
);
