import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parley as command, printed, printedJson, serve } from '../support/command-line.ts';

describe('parley prune and parley usage totals', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'parley-prune-cli-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true }));

  it('work with and without a running server', async () => {
    const folder = ['--data-dir', dataDir];
    const server = await serve(['--demo', ...folder], { cwd: dataDir });
    try {
      await printed(['speak', 'Hello.', '-o', join(dataDir, 'a.mp3'), ...folder], { cwd: dataDir });
      expect(existsSync(join(dataDir, 'a.mp3'))).toBe(true);
      expect(await printed(['prune', '--keep-days', '1', '--yes', ...folder])).toMatch(
        /^Removed 0 usage records/,
      );
      expect(await printed(['prune', '--keep-days', '0', '--dry-run', ...folder])).toMatch(
        /^Would remove [1-9]/,
      );
      const pruned = await printedJson<{ records_removed: number }>([
        'prune',
        '--keep-days',
        '0',
        '--yes',
        ...folder,
      ]);
      expect(pruned).toMatchObject({ complete: true });
      expect(pruned.records_removed).toBeGreaterThan(0);
      await printed(['speak', 'Hello.', '-o', join(dataDir, 'a.mp3'), ...folder], { cwd: dataDir });
      const { stdout, stderr } = await command(['prune', '--keep-days', '0', '--yes', ...folder]);
      expect(stderr).toMatch(/^removing usage records: (\d+) of \1 rows\n$/);
      expect(stdout).toMatch(/^Removed [1-9]/);
    } finally {
      await server.close();
    }
    const table = await printed([
      'usage',
      'totals',
      '--by',
      'account,operation',
      '--since',
      '30d',
      ...folder,
    ]);
    expect(table).toMatch(/^ACCOUNT +OPERATION +REQUESTS/);
    expect(table).toMatch(/^demo +speech +2 +12 /m);
    const both = await command(['prune', '--keep-days', '1', '--before', '2026-01-01', ...folder]);
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('--before or --keep-days')]);
  });
});
