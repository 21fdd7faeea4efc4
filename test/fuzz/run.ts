/**
 * Fuzzes the parsers of this program, each with inputs that reach ever more of it. An input at which one fails is kept in
 * test/fuzz/corpus, where a test reads it from then on.
 *
 *   npm run fuzz -- --minutes 10                 all targets, ten minutes together
 *   npm run fuzz -- --minutes 1 --only forms     one of them
 *   npm run fuzz -- --minutes 1 --seed 7         the same inputs again
 *
 * Exit codes: 0 nothing failed, 1 something did, 2 wrong options.
 */
import { parseArgs } from 'node:util';
import { fuzz } from './fuzz.ts';
import { targets } from './targets/index.ts';

const print = (line: string) => process.stdout.write(`${line}\n`);

function readOptions() {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '1' },
      only: { type: 'string' },
      seed: { type: 'string' },
    },
  });
  const chosen = Object.keys(targets).filter((name) => values.only === undefined || name === values.only);
  if (chosen.length === 0) throw new Error(`--only must be one of ${Object.keys(targets).join(', ')}`);
  const minutes = Number(values.minutes);
  const seed = Number(values.seed ?? Date.now() % 2 ** 32);
  if (!(minutes > 0) || !(seed >= 0)) throw new Error('--minutes and --seed must be numbers');
  return { chosen, seed, forMs: (minutes * 60_000) / chosen.length };
}

async function main({ chosen, seed, forMs }: ReturnType<typeof readOptions>): Promise<number> {
  print(`--seed ${seed}`);
  let failed = 0;
  for (const name of chosen) {
    const { inputs, parts, kept, crashes } = await fuzz(name, { seed, forMs });
    print(`${name}: ${inputs} inputs, ${kept} kept, ${parts} parts reached, ${crashes.length} failures`);
    for (const { file, reason } of crashes) print(`FAILED ${file}\n${reason}`);
    failed += crashes.length;
  }
  return failed > 0 ? 1 : 0;
}

let options: ReturnType<typeof readOptions>;
try {
  options = readOptions();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exit(2);
}
process.exit(await main(options));
