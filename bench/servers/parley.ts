/**
 * Parley as a child process of the bench, with a new database on disk and two accounts, one of them with limits.
 *
 *   node bench/servers/parley.ts SETTINGS [LOCAL]
 *
 * SETTINGS is a `parley.yaml` as JSON, LOCAL a data folder whose local models and runtimes it runs. An engine named `scripted` answers chat with the messages of `messages.ts`. The message
 * `memory` is answered with the live bytes after a collection, `account` with the key of another account, `walk` with the functions
 * that ran since the last one.
 */
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from '../../src/app/create-app.ts';
import { loadConfig } from '../../src/config/config.ts';
import { messageAnswer, messageChunk } from '../../src/core/entities/chat-answer.ts';
import type { ChatEngine } from '../../src/core/entities/engine.ts';
import type { EngineSet } from '../../src/engines/engine-set.ts';
import { openAccount } from './account.ts';
import { chatChunks, chatCompletion } from './messages.ts';
import { cpuUsed, serveParent } from './parent.ts';

const chat: ChatEngine = {
  availability: () => ({ available: true }),
  complete: () => Promise.resolve(messageAnswer(chatCompletion())),
  async *stream() {
    for (const chunk of chatChunks()) yield [messageChunk(chunk)];
  },
};
const scripted: EngineSet = {
  chat: () => chat,
  reading: () => ({ isUp: true, waiting: 0 }),
  close: () => Promise.resolve(),
};

const [, , settings = '{}', local] = process.argv;
const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
const file = join(dataDir, 'parley.yaml');
writeFileSync(file, settings);
if (local !== undefined)
  for (const name of ['models', 'runtimes']) symlinkSync(join(local, name), join(dataDir, name));
// All clients of the bench have one address.
const server = { port: 0, connectionsMax: 4_096, connectionsPerAddressMax: 4_096, keepAliveMs: 600_000 };
const overrides = { server, dataDir, log: { level: 'silent' } };
const app = await createApp(loadConfig({ env: {}, file, overrides }), { engines: { scripted } });
const key = await openAccount(app);
const limitedKey = await openAccount(app, 'limited', true);
const started = { origin: new URL(app.baseUrl).origin, key, limitedKey };
async function close(): Promise<void> {
  await app.close();
  rmSync(dataDir, { recursive: true });
}
serveParent(started, close, async (message: 'cpu' | 'memory' | 'account' | 'walk') => {
  if (message === 'walk') return (await import('./walk.ts')).takeWalk();
  if (message === 'memory')
    return { liveBytes: (await import('../../test/support/live-bytes.ts')).liveBytes() };
  if (message === 'account') return { key: await openAccount(app, 'another') };
  return cpuUsed();
});
