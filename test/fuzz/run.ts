/**
 * Fuzzes the parsers of this program, each with inputs that reach more and more of its code. An input at which one fails is kept in
 * test/fuzz/corpus, where a test reads it from then on.
 *
 *   npm run fuzz -- --minutes 10                 all targets, ten minutes together
 *   npm run fuzz -- --minutes 1 --only forms     those whose names contain it
 *   npm run fuzz -- --minutes 1 --seed 7         the same inputs again
 *
 * Exit codes: 0 nothing failed, 1 something did, 2 wrong options.
 */
import { print, runSeeded } from '../support/seeded-command.ts';
import { fuzz } from './fuzz.ts';
import { targets } from './targets/index.ts';

await runSeeded(targets, '1', async ({ chosen, seed, forMs }) => {
  const names = Object.keys(chosen);
  let failed = 0;
  for (const name of names) {
    const { inputs, parts, kept, crashes } = await fuzz(name, { seed, forMs: forMs / names.length });
    print(`${name}: ${inputs} inputs, ${kept} kept, ${parts} parts reached, ${crashes.length} failures`);
    for (const { file, reason } of crashes) print(`FAILED ${file}\n${reason}`);
    failed += crashes.length;
  }
  return failed;
});
