import { existsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { isRelease } from '../support/tier.ts';

const all = 'test/slow/**/*.test.ts';
/** These tests measure memory, or use every core and would only be slower beside others. */
const alone = 'test/slow/{bench,connect-conformance,heap}.test.ts';
/** The longest files, which mostly wait: all others run beside them. */
const first = ['campaign', 'abuse'].map((name) => `/test/slow/${name}.test.ts`);

/** Tests of kills, idle ends and shortages of memory, which the other tests play a few times. */
const inRounds = [
  'test/engines/process/process.test.ts',
  'test/supervisor/{killed-parley,program,supervisor}.test.ts',
];
const rounds = isRelease ? 100 : 25;

/**
 * Tests that run in Firefox as well as in Chromium: sign-in, keys, streams, the chart in several zones, files that a page saves, requests
 * of the reference, search, the policy, the keyboard, and axe. PARLEY_TEST_BROWSER=firefox runs any other test there.
 */
const inFirefox = [
  'test/console/{playground-chat,sign-in,smoke}.test.ts',
  'test/slow/{console-holder,console-keys,console-pages,reference}.test.ts',
];
const hasFirefox = existsSync('/usr/bin/firefox-esr');
if (!hasFirefox) {
  process.stderr.write('The tests in Firefox do not run: install the Debian package firefox-esr.\n');
}

/** In a new clone vitest sorts by size. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isFirst = ({ moduleId }: TestSpecification) => first.some((name) => moduleId.endsWith(name));
    return (await super.sort(files)).sort((a, b) => Number(isFirst(b)) - Number(isFirst(a)));
  }
}

/** Workers whose files share their modules: three on two cores, as these tests wait for programs and browsers half of the time. */
const beside = { maxWorkers: 3, isolate: false, sequence: { groupOrder: 0 } };

/** Tests that take minutes. `npm test -- --all` runs them, and so does .ci/run. */
export default defineConfig({
  test: {
    testTimeout: 600_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 120_000, interval: 20 } },
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { ...beside, name: 'beside', include: [all], exclude: [alone] } },
      {
        extends: true,
        test: {
          ...beside,
          name: 'firefox',
          include: hasFirefox ? inFirefox : [],
          env: { PARLEY_TEST_BROWSER: 'firefox' },
        },
      },
      {
        extends: true,
        test: {
          ...beside,
          name: 'rounds',
          include: inRounds,
          env: { PARLEY_SUPERVISION_ROUNDS: String(rounds) },
        },
      },
      {
        extends: true,
        test: { name: 'alone', include: [alone], maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
