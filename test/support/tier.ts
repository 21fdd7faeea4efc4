/**
 * The tier of this run (docs/internal/testing.md), which scripts/check.mjs puts into TEST_TIER: `npm test` runs the first one, `npm test --
 * --all` all tests, `npm test -- --release` also those of a release. Without one, as for single files, any test may run.
 */
const tier = process.env['TEST_TIER'];

export const isFirstTier = tier === 'first';
/** Whether random tests take new seeds and play as long as they do before a change is taken. */
export const isWhole = tier === 'all' || tier === 'release';
export const isRelease = tier === 'release';
/** The reason why a test of a release does not run now. */
export const notNow = isRelease ? undefined : 'only `npm test -- --release` runs it';
