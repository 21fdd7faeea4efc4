import { configDefaults, defineConfig } from 'vitest/config';
import { compileCache } from './test/support/compile-cache.ts';
import { postgresPrograms } from './test/support/postgres/programs.ts';
import { isFirstTier } from './test/support/tier.ts';
import { firstOnPostgres, later } from './test/tiers.ts';

/** Tests of one database only. */
const ofPostgres = 'test/store/postgres/**/*.test.ts';
/** Tests of everything that a store does: they run on both. */
const onPostgres = [
  ofPostgres,
  'test/conformance/**/*.test.ts',
  'test/core/access/plans.test.ts',
  'test/core/{accounts,alerts}/**/*.test.ts',
  'test/core/limits/**/*.test.ts',
  'test/core/idempotency/**/*.test.ts',
  'test/core/billing/{fallback,images,money-concurrency,money-model,outcomes,paid-tokens}.test.ts',
  'test/identity/sign-in.test.ts',
  'test/core/realtime/{endings,turns}.test.ts',
  'test/transports/realtime/**/*.test.ts',
  'test/store/maintenance/prune.test.ts',
  'test/store/*.test.ts',
];
/** Tests among these that open no store, or in which it decides nothing. */
const onSqliteOnly = [
  'test/conformance/upstream-statuses.test.ts',
  'test/core/accounts/check-engine.test.ts',
  'test/core/alerts/{conditions,rules}.test.ts',
  'test/core/limits/rules.test.ts',
  'test/transports/realtime/{event-socket,session-settings}.test.ts',
];

const hasPostgres = Boolean(process.env['PARLEY_TEST_POSTGRES_URL'] || postgresPrograms());
if (!hasPostgres) {
  process.stderr.write(
    'The tests on PostgreSQL do not run: install the Debian package postgresql, or set PARLEY_TEST_POSTGRES_URL.\n',
  );
}

// Each server of a test starts threads, whose sources would be stripped and compiled anew.
process.env['NODE_COMPILE_CACHE'] ??= compileCache;
// A worker starts hundreds of threads, and glibc would keep memory for each.
if (isFirstTier) process.env['MALLOC_ARENA_MAX'] ??= '2';

export default defineConfig({
  test: {
    setupFiles: ['test/support/seed.ts'],
    // They end a test that hangs; a busy machine must not reach them.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 120_000, interval: 20 } },
    // Two cores run three well: files wait a third of the time, for limits of time and for children.
    maxWorkers: 3,
    // Files share their worker's modules: importing the server anew for each file costs most of a second.
    isolate: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'sqlite',
          include: ['test/**/*.test.ts'],
          // The slow ones take minutes and have a configuration of their own.
          exclude: [
            ...configDefaults.exclude,
            'test/slow/**',
            ofPostgres,
            ...(isFirstTier ? Object.values(later).flat() : []),
          ],
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: hasPostgres ? (isFirstTier ? firstOnPostgres : onPostgres) : [],
          exclude: [...configDefaults.exclude, ...onSqliteOnly],
          env: { PARLEY_TEST_STORE: 'postgres' },
          globalSetup: ['test/support/postgres/cluster.ts'],
        },
      },
    ],
  },
});
