/**
 * A minute of attacks at random, beside honest clients. `npm run abuse -- --minutes 10` takes longer, and `npm run abuse` reports
 * the cost of each attack.
 *
 *   PARLEY_ABUSE_SEED=7 npm test -- test/slow/abuse.test.ts
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const seed = process.env['PARLEY_ABUSE_SEED'] ?? String(Date.now() % 2 ** 32);
const run = (...args: string[]) => promisify(execFile)(process.execPath, ['test/abuse/run.ts', ...args]);

const noProc = process.platform === 'linux' ? '' : ' (skipped: it reads /proc of Linux)';
it.skipIf(noProc)(
  `survives a minute of attacks: honest requests are served, the books are exact, memory comes back${noProc}`,
  async () => {
    const { stdout } = await run('--minutes', '1', '--seed', seed).catch((failure) => {
      throw new Error(`${failure.stdout}\n${String(failure.stderr).slice(-4000)}`);
    });
    process.stdout.write(stdout);
    const [, attacks, honest] = /^(\d+) attacks in 1 minutes .*; (\d+) honest requests/m.exec(stdout) ?? [];
    expect(Number(attacks)).toBeGreaterThan(0);
    expect(Number(honest)).toBeGreaterThan(0);
  },
);

it('refuses to run an unknown attack', async () => {
  await expect(run('--only', 'nothing of the kind')).rejects.toMatchObject({ code: 2 });
});
