/** The seed of all random tests of a run, which vitest.config.ts chooses. TEST_SEED=7 in the environment repeats a run. */
import fc from 'fast-check';

export const seed = Number(process.env['TEST_SEED'] ?? 1);

fc.configureGlobal({ seed });
