/**
 * Parley as a child of a benchmark, an upstream behind it, its store on disk and durable as ever.
 *
 *   node bench/servers/parley-relay.ts ORIGIN-OF-THE-UPSTREAM
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from '../../src/app/create-app.ts';
import { loadConfig } from '../../src/config/config.ts';
import { openAccount } from './account.ts';
import { serveParent } from './parent.ts';
import { relaySettings } from './relay-settings.ts';

const [, , upstream = ''] = process.argv;
const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
const file = join(dataDir, 'parley.yaml');
writeFileSync(file, JSON.stringify(relaySettings(upstream)));
const server = { port: 0, connectionsMax: 4_096, keepAliveMs: 60_000 };
const app = await createApp(
  loadConfig({ env: {}, file, overrides: { server, dataDir, log: { level: 'silent' } } }),
);
const key = await openAccount(app);
serveParent({ origin: new URL(app.baseUrl).origin, key }, async () => {
  await app.close();
  rmSync(dataDir, { recursive: true });
});
