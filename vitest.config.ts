import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Each file starts servers, worker threads and children of its own; two cores run two of them well.
    maxWorkers: 2,
  },
});
