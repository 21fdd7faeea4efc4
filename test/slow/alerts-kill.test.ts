/** A server that is killed between an alert and its delivery: the next one delivers it. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Folder, printed, type Serving, scratchFolder, serve } from '../support/command-line.ts';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';
import { verified } from '../support/webhook-signature.ts';

const sealingKey = 'a key that is long enough, and in a file of its own';

let folder: Folder;
let receiver: WebhookReceiver;
let server: Serving;
beforeEach(async () => {
  folder = scratchFolder();
  receiver = await startReceiver();
  writeFileSync(folder.file('sealing-key'), sealingKey);
  const alerts = { allowedNetworks: ['127.0.0.1'], sealingKeyFile: folder.file('sealing-key') };
  writeFileSync(folder.file('parley.yaml'), JSON.stringify({ alerts, log: { level: 'trace' } }));
});
afterEach(async () => {
  await server.end();
  await receiver.close();
  folder.remove();
});

const start = () => serve(['--config', folder.file('parley.yaml'), '--data-dir', folder.file('data')]);

it('delivers after a kill, and reveals the secret nowhere', async () => {
  const flags = ['--config', folder.file('parley.yaml'), '--data-dir', folder.file('data')];
  const adminKey = (await printed(['key', 'create', '--admin', ...flags])).trim();
  await printed(['account', 'create', 'acme', ...flags]);
  server = await start();
  const boss = () => ['--base-url', server.baseUrl, '--admin-key', adminKey];
  receiver.holds = true;
  const set = ['alerts', 'set', 'acme', '--webhook', receiver.origin, '--balance-below', '5', '--json'];
  const { secret } = JSON.parse(await printed([...set, ...boss()])) as { secret: string };
  await expect.poll(() => receiver.received.length).toBe(1);
  server.kill('SIGKILL');
  await server.ended;
  const told = [server.stderr()];
  receiver.holds = false;
  server = await start();
  await expect.poll(() => receiver.received.length).toBe(2);
  const [first, second] = receiver.received;
  expect(second?.alert).toEqual(first?.alert);
  expect(second?.alert).toMatchObject({ type: 'credits.low', balance: '0' });
  for (const one of receiver.received) expect(verified(secret, one)).toBe(true);
  const list = () => printed(['alerts', 'list', 'acme', ...boss()]);
  await expect.poll(list).toMatch(/ credits\.low .* delivered +2 /);
  told.push(server.stderr(), await list(), await printed(['alerts', 'show', 'acme', '--json', ...boss()]));
  told.push(await printed(['audit', '--json', ...boss()]));
  await server.close();
  for (const name of readdirSync(folder.file('data'))) {
    told.push(readFileSync(`${folder.file('data')}/${name}`, 'latin1'));
  }
  const bare = secret.slice('whsec_'.length);
  expect(told.filter((text) => text.includes(bare))).toEqual([]);
});
