/** The bench is not to rot: each group runs to its end, and what it measures answers as it should. How fast, is not asked. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { groups } from '../../bench/groups/index.ts';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { missingPrograms } from '../support/audio-files.ts';

const missing = missingHearing() ?? missingPrograms('flite', 'ffmpeg', 'pocketsphinx_batch', 'bash');
if (missing !== undefined) process.stderr.write(`bench.test.ts is skipped: ${missing}\n`);

describe.skipIf(missing !== undefined)('a short run of the bench', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
  let printed = '';
  beforeAll(async () => {
    const args = ['bench/run.ts', '--short', '--out', folder];
    printed = (await promisify(execFile)(process.execPath, args)).stdout;
  }, 300_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(groups.map((group) => [group.name, group] as const))('measures %s', (name, { title }) => {
    expect(printed).toContain(`## ${title}\n`);
    const { comparisons, facts } = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'));
    expect(comparisons.length + facts.length).toBeGreaterThan(0);
    for (const { ours, theirs } of comparisons) expect([...ours, ...theirs].every(isPositive)).toBe(true);
    for (const { values } of facts) expect(values.every(isPositive)).toBe(true);
  });

  it('draws a chart of each group that has a yardstick', () => {
    const charts = readdirSync(folder).filter((file) => file.endsWith('.svg'));
    expect(charts).toContain('chat-throughput.svg');
    for (const file of charts) {
      const chart = readFileSync(join(folder, file), 'utf8');
      expect(chart).toMatch(/^<svg [\s\S]*<rect [\s\S]*<\/svg>\n$/);
      expect(chart, file).not.toContain('NaN');
    }
  });

  it('ends with every aim', () => {
    expect(printed.match(/\| at (least|most) /g)).toHaveLength(16);
  });
});

describe('the bench', () => {
  it('refuses a group that there is not, and tells which there are', async () => {
    const run = promisify(execFile)(process.execPath, ['bench/run.ts', '--group', 'nothing']);
    await expect(run).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('chat') });
  });
});

const isPositive = (value: unknown) => typeof value === 'number' && value > 0;
