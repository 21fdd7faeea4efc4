import { defineConfig } from 'vitest/config';

/** The proofs that take minutes. `npm test -- --all` runs them, one file after the other, and so does .ci/run. */
export default defineConfig({
  test: {
    include: ['test/slow/**/*.test.ts'],
    testTimeout: 600_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 120_000, interval: 20 } },
    maxWorkers: 1,
  },
});
