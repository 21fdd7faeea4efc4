import { defineConfig } from 'vitest/config';

const all = 'test/slow/**/*.test.ts';
/** These tests measure memory and times, or load the whole machine. */
const alone = 'test/slow/{abuse,backup-under-load,bench,campaign,connect-conformance,h2spec,heap}.test.ts';

/** Tests that take minutes. `npm test -- --all` runs them, and so does .ci/run. */
export default defineConfig({
  test: {
    testTimeout: 600_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 120_000, interval: 20 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'beside',
          include: [all],
          exclude: [alone],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'alone', include: [alone], maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
