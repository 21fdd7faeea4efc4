const few = 3;

/** Rounds of each supervision test: a few by default, more in test/slow/vitest.config.ts. */
export const rounds = Number(process.env['PARLEY_SUPERVISION_ROUNDS'] ?? few);
/** Rounds of a test that starts the program each time, which takes a second and more. */
export const startRounds = rounds === few ? 1 : rounds;
/** For a test of many rounds on a busy machine. */
export const timeout = 180_000 + rounds * 20_000;
