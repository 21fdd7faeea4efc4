/** The bench stays usable: each group runs to its end, and the measured servers answer correctly. Speed is not checked. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { groups } from '../../bench/groups/index.ts';
import { aims } from '../../bench/harness/aims.ts';
import { type Bar, draw } from '../../bench/harness/chart.ts';
import { httpLoad, whatToInstall } from '../../bench/harness/needs.ts';
import type { Group } from '../../bench/harness/result.ts';
import { threadTimesOf } from '../../bench/harness/threads.ts';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { postgresPrograms } from '../support/postgres/programs.ts';

const noPostgres = postgresPrograms() === undefined ? 'PostgreSQL is not installed' : undefined;
const missing =
  missingHearing() ?? whatToInstall(['flite', 'ffmpeg', 'pocketsphinx_batch', 'bash']) ?? noPostgres;
if (missing !== undefined) process.stderr.write(`bench.test.ts is skipped: ${missing}\n`);
const isLeftOut = ({ needs = [] }: Group) => whatToInstall(needs) !== undefined;
const withoutLoad = whatToInstall(httpLoad);
if (withoutLoad !== undefined) process.stderr.write(`bench.test.ts, groups over HTTP: ${withoutLoad}\n`);

describe.skipIf(missing !== undefined)('a short run of the bench', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
  let printed = '';
  beforeAll(async () => {
    const args = ['bench/run.ts', '--short', '--out', folder];
    printed = (await promisify(execFile)(process.execPath, args)).stdout;
  }, 300_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(groups.map((group) => [group.name, group] as const))('measures %s', (name, group) => {
    expect(printed).toContain(`## ${group.title}\n`);
    if (isLeftOut(group)) return;
    const { comparisons, facts } = JSON.parse(readFileSync(join(folder, 'raw', `${name}.json`), 'utf8'));
    expect(comparisons.length + facts.length).toBeGreaterThan(0);
    for (const { ours, theirs } of comparisons) expect([...ours, ...theirs].every(isPositive)).toBe(true);
    for (const { values } of facts) expect(values.every(isPositive)).toBe(true);
  });

  it('draws a chart for each group that has a yardstick', () => {
    const charts = readdirSync(folder).filter((file) => file.endsWith('.svg'));
    expect(charts).toContain('money.svg');
    for (const file of charts) {
      const chart = readFileSync(join(folder, file), 'utf8');
      expect(chart).toMatch(/^<svg [\s\S]*<rect [\s\S]*<\/svg>\n$/);
      expect(chart, file).not.toContain('NaN');
    }
  });

  it('ends with every aim', () => {
    expect(printed.match(/\| at (least|most) /g)).toHaveLength(Object.keys(aims).length);
  });
});

describe('the bench', () => {
  it('refuses an unknown group, and lists the known ones', async () => {
    const run = promisify(execFile)(process.execPath, ['bench/run.ts', '--group', 'nothing']);
    await expect(run).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('chat') });
  });
});

describe('CPU of threads', () => {
  it('counts workers apart from the main thread', async () => {
    const before = threadTimesOf(process.pid);
    const burn = `
      const { parentPort } = require('node:worker_threads');
      while (process.threadCpuUsage().user < 200_000);
      parentPort.once('message', () => {});
      parentPort.postMessage('burnt');`;
    const worker = new Worker(burn, { eval: true });
    await once(worker, 'message');
    const after = threadTimesOf(process.pid);
    await worker.terminate();
    expect(after.other - before.other).toBeGreaterThan(190);
    expect(after.main - before.main).toBeLessThan(100);
  });
});

describe('a chart', () => {
  const bar = { label: '', score: 0.5, least: 0.4, most: 0.6, note: '' };
  const drawn = (bars: readonly Bar[]) => draw({ title: 'title', subtitle: '', bars });

  it('shows a bar that misses its aim in another colour', () => {
    const missed = drawn([{ ...bar, aim: 0.75 }]);
    expect(missed).toContain('fill="#d9822b"');
    expect(drawn([{ ...bar, aim: 0.45 }])).not.toContain('fill="#d9822b"');
  });

  it('shades the aim from its score to the right end', () => {
    const shades = /<rect x="([\d.]+)" y="64" width="([\d.]+)" height="30" fill="#d9f0dd"/;
    const [, from = '', wide = ''] = shades.exec(drawn([{ ...bar, aim: 0.6 }])) ?? [];
    // The scale ends at 1.2.
    expect(Number(wide)).toBeCloseTo(190);
    expect(Number(from)).toBeCloseTo(24 + 190);
  });

  it('numbers its scale', () => {
    const ticks = [...drawn([{ ...bar, score: 300, most: 300 }]).matchAll(/>(\d+)<\/text>/g)];
    expect(ticks.map(([, tick]) => tick)).toEqual(['0', '50', '100', '150', '200', '250', '300', '350']);
  });
});

const isPositive = (value: unknown) => typeof value === 'number' && value > 0;
