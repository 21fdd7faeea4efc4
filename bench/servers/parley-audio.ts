/** Parley as a child of a benchmark, with its own engines as they are by default, and room for any number of listeners. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from '../../src/app/create-app.ts';
import { loadConfig } from '../../src/config/config.ts';
import { openAccount } from './account.ts';
import { serveParent } from './parent.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
const overrides = {
  server: { port: 0, keepAliveMs: 600_000 },
  engines: { builtin: { kind: 'builtin', speechQueueMax: 1_024 } },
  fairUse: { trialUnitsPerMonth: 1_000_000_000 },
  dataDir,
  log: { level: 'silent' },
};
const app = await createApp(loadConfig({ env: {}, overrides }));
const key = await openAccount(app);
serveParent({ origin: new URL(app.baseUrl).origin, key }, async () => {
  await app.close();
  rmSync(dataDir, { recursive: true });
});
