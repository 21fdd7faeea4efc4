/** The seed of all random tests of a run, 1 where scripts/check.mjs chooses none. TEST_SEED=7 in the environment repeats a run. */
import fc from 'fast-check';

export const seed = Number(process.env['TEST_SEED'] ?? 1);

fc.configureGlobal({ seed });
