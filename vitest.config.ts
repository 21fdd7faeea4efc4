import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // These take minutes and have a configuration of their own.
    exclude: [...configDefaults.exclude, 'test/slow/**'],
    // They end a test that hangs; a busy machine must not reach them.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 120_000, interval: 20 } },
    // Each file starts servers, worker threads and children of its own; two cores run two of them well.
    maxWorkers: 2,
  },
});
