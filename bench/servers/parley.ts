/** Parley as a child of a benchmark, its chat a scripted stream of 100 messages: tells where it listens and what it used. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import * as pb from '../../gen/parley/admin/v1/admin_pb.ts';
import { createApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { cliCall } from '../../src/core/call.ts';
import { messageChunk } from '../../src/core/chat-answer.ts';
import type { ChatEngine } from '../../src/core/ports/engines.ts';
import { createBuiltinEngine } from '../../src/engines/builtin/index.ts';
import { createTokenCounter } from '../../src/tokens/counter.ts';
import { chatChunks } from './messages.ts';
import { serveParent } from './parent.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
const overrides = { server: { port: 0 }, dataDir, log: { level: 'silent' } };
const config = loadConfig({ env: {}, overrides });
const chat: ChatEngine = {
  availability: () => ({ available: true }),
  complete: () => Promise.reject(new Error('not measured')),
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
const { admin } = app.services;
const accountId = 'bench';
await admin.createAccount(create(pb.CreateAccountRequestSchema, { name: accountId }), cliCall);
await admin.startTrial(create(pb.StartTrialRequestSchema, { accountId }), cliCall);
const load = { accountId, amount: '1000000', reason: 'bench', idempotencyKey: 'bench' };
await admin.loadCredits(create(pb.LoadCreditsRequestSchema, load), cliCall);
const key = create(pb.CreateKeyRequestSchema, { accountId, name: 'bench' });
const { secret } = await admin.createKey(key, cliCall);
serveParent({ origin: new URL(app.baseUrl).origin, key: secret }, async () => {
  await app.close();
  await builtin.close();
  rmSync(dataDir, { recursive: true });
});
