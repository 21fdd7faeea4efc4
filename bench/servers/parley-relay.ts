/**
 * Parley as a child of a benchmark, an upstream behind it, its store on disk and durable as ever.
 *
 *   node bench/servers/parley-relay.ts ORIGIN-OF-THE-UPSTREAM
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import * as pb from '../../gen/parley/admin/v1/admin_pb.ts';
import { createApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { cliCall } from '../../src/core/call.ts';
import { serveParent } from './parent.ts';

const [, , upstream = ''] = process.argv;
const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
const file = join(dataDir, 'parley.yaml');
const engine = {
  kind: 'openai',
  baseUrl: `${upstream}/v1`,
  callsMax: 4_096,
  models: { bench: 'mock-model' },
};
const model = { id: 'bench', type: 'chat', engine: 'mock', price: { input: 1, output: 1 } };
writeFileSync(file, JSON.stringify({ engines: { mock: engine }, models: [model] }));
const server = { port: 0, connectionsMax: 4_096, keepAliveMs: 60_000 };
const app = await createApp(
  loadConfig({ env: {}, file, overrides: { server, dataDir, log: { level: 'silent' } } }),
);
const { admin } = app.services;
const accountId = 'bench';
await admin.createAccount(create(pb.CreateAccountRequestSchema, { name: accountId }), cliCall);
const load = { accountId, amount: '1000000', reason: 'bench', idempotencyKey: 'bench' };
await admin.loadCredits(create(pb.LoadCreditsRequestSchema, load), cliCall);
const key = create(pb.CreateKeyRequestSchema, { accountId, name: 'bench' });
const { secret } = await admin.createKey(key, cliCall);
serveParent({ origin: new URL(app.baseUrl).origin, key: secret }, async () => {
  await app.close();
  rmSync(dataDir, { recursive: true });
});
