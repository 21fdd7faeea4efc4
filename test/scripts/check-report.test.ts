/** What `npm test -- --all` runs once more, from reports as vitest writes them. */
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { failedFiles, failedTests } from '../../scripts/check-report.mjs';

const file = (path: string, tests: Readonly<Record<string, string>>, status = 'failed') => ({
  name: resolve(path),
  status,
  assertionResults: Object.entries(tests).map(([fullName, status]) => ({ fullName, status })),
});
const passed = file('test/a.test.ts', { 'a holds': 'passed' }, 'passed');
const broken = file('test/b.test.ts', { 'b holds': 'failed', 'b is fast': 'passed' });
const unread = file('test/c.test.ts', {});

describe('a second run', () => {
  it('takes the files in which a test failed, on one database or on both, and names the tests', () => {
    const report = { testResults: [passed, broken, unread, broken] };
    expect(failedFiles(report)).toEqual(['test/b.test.ts', 'test/c.test.ts']);
    expect(failedTests({ testResults: [passed, broken, unread] })).toEqual([
      'test/b.test.ts: b holds',
      'test/c.test.ts',
    ]);
  });

  it('takes none where rounds of random failures found something, where many files failed, or without a report', () => {
    const campaign = file('test/slow/campaign.test.ts', { 'keeps all promises': 'failed' });
    expect(failedFiles({ testResults: [broken, campaign] })).toEqual([]);
    const many = Array.from({ length: 11 }, (_, index) => file(`test/${index}.test.ts`, {}));
    expect(failedFiles({ testResults: many })).toEqual([]);
    expect(failedFiles({ testResults: many.slice(1) })).toHaveLength(10);
    expect(failedFiles(undefined)).toEqual([]);
  });
});
