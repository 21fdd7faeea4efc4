/**
 * Ten minutes of kills and of failing disks, databases, networks, clocks and upstreams, each kind at least once.
 * `npm run campaign` takes longer, and says how to repeat a failed round.
 *
 *   PARLEY_CAMPAIGN_SEED=7 npm test -- test/slow/campaign.test.ts
 */
import { spawn } from 'node:child_process';
import { expect, it } from 'vitest';
import { ended } from '../support/command-line.ts';

const minutes = 10;
/** The same rounds in each run. `npm run campaign` plays others. */
const seed = process.env['PARLEY_CAMPAIGN_SEED'] ?? '107343720';
const run = (...args: string[]) => ended(spawn(process.execPath, ['test/campaign/run.ts', ...args]));

it(`keeps all promises through ${minutes} minutes of failures`, {
  timeout: 3 * minutes * 60_000,
}, async () => {
  const { code, stdout, stderr } = await run('--minutes', String(minutes), '--seed', seed);
  process.stdout.write(stdout);
  const [, rounds, kills, failed] = /^(\d+) rounds, (\d+) kills, (\d+) failed$/m.exec(stdout) ?? [];
  expect(failed, `${stdout}\n${stderr}`).toBe('0');
  expect(Number(rounds)).toBeGreaterThan(0);
  expect(Number(kills)).toBeGreaterThan(0);
  expect(code).toBe(0);
});

it('refuses to run an unknown scenario', async () => {
  expect((await run('--only', 'nothing of the kind')).code).toBe(2);
});
