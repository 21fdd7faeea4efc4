import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // These take minutes and have a configuration of their own.
    exclude: [...configDefaults.exclude, 'test/slow/**'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Each file starts servers, worker threads and children of its own; two cores run two of them well.
    maxWorkers: 2,
  },
});
