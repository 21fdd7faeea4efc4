/**
 * A round of each kind of failure: kills, and failing disks, databases, networks, clocks and upstreams. `npm run campaign` plays
 * for longer, and says how to repeat a failed round.
 *
 *   PARLEY_CAMPAIGN_SEED=7 npm test -- test/slow/campaign.test.ts
 */
import { spawn } from 'node:child_process';
import { expect, it } from 'vitest';
import { scenarios } from '../campaign/scenarios.ts';
import { ended } from '../support/command-line.ts';

/** The same rounds in each run. `npm run campaign` plays others. */
const seed = process.env['PARLEY_CAMPAIGN_SEED'] ?? '107343720';
const run = (...args: string[]) => ended(spawn(process.execPath, ['test/campaign/run.ts', ...args]));

it('keeps all promises through a round of each failure', { timeout: 30 * 60_000 }, async () => {
  const possible = Object.values(scenarios).filter(({ missing }) => missing === undefined);
  const { code, stdout, stderr } = await run('--seed', seed);
  process.stdout.write(stdout);
  const [, rounds, kills, failed] = /^(\d+) rounds, (\d+) kills, (\d+) failed$/m.exec(stdout) ?? [];
  expect(failed, `${stdout}\n${stderr}`).toBe('0');
  expect(Number(rounds)).toBe(possible.length);
  expect(Number(kills)).toBeGreaterThan(0);
  expect(code).toBe(0);
});

it('refuses to run an unknown scenario', async () => {
  expect((await run('--only', 'nothing of the kind')).code).toBe(2);
});
