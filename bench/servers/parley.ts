/** Parley as a child of a benchmark, its chat scripted: one message, or a stream of 100: tells where it listens and what it used. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from '../../src/app/create-app.ts';
import { loadConfig } from '../../src/config/config.ts';
import { messageAnswer, messageChunk } from '../../src/core/chat/answer.ts';
import type { ChatEngine } from '../../src/core/ports/engines.ts';
import { createBuiltinEngine } from '../../src/engines/builtin/index.ts';
import { createTokenCounter } from '../../src/tokens/counter.ts';
import { openAccount } from './account.ts';
import { chatChunks, chatCompletion } from './messages.ts';
import { serveParent } from './parent.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
const server = { port: 0, keepAliveMs: 60_000 };
const overrides = { server, dataDir, log: { level: 'silent' } };
const config = loadConfig({ env: {}, overrides });
const chat: ChatEngine = {
  availability: () => ({ available: true }),
  complete: () => Promise.resolve(messageAnswer(chatCompletion())),
  async *stream() {
    for (const chunk of chatChunks()) yield [messageChunk(chunk)];
  },
};
const settings = {
  speechThreads: 1,
  encoderThreads: 1,
  recognizers: 1,
  speechQueueMax: 1,
  transcriptionQueueMax: 1,
};
const deps = { tokens: createTokenCounter(), clock: Date, scratchDir: dataDir, requestMsMax: 60_000 };
const builtin = createBuiltinEngine(settings, deps);
const app = await createApp(config, { engines: { builtin: { ...builtin, chat: () => chat } } });
const key = await openAccount(app);
serveParent({ origin: new URL(app.baseUrl).origin, key }, async () => {
  await app.close();
  await builtin.close();
  rmSync(dataDir, { recursive: true });
});
