/** The command line of programs that run at random: `--minutes`, `--only` and `--seed`. */
import { parseArgs } from 'node:util';

export interface SeededOptions<Part> {
  /** The parts whose names contain `--only`. Default: all */
  readonly chosen: Readonly<Record<string, Part>>;
  readonly seed: number;
  readonly forMs: number;
}

export const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** Runs the parts and ends the process: 0 all went well, 1 something failed, 2 wrong options. @param run returns the number of failures */
export async function runSeeded<Part>(
  parts: Readonly<Record<string, Part>>,
  minutesByDefault: string,
  run: (options: SeededOptions<Part>) => Promise<number>,
): Promise<never> {
  let options: SeededOptions<Part>;
  try {
    options = readOptions(parts, minutesByDefault);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exit(2);
  }
  print(`--seed ${options.seed}`);
  process.exit((await run(options)) > 0 ? 1 : 0);
}

function readOptions<Part>(
  parts: Readonly<Record<string, Part>>,
  minutesByDefault: string,
): SeededOptions<Part> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: minutesByDefault },
      only: { type: 'string', default: '' },
      seed: { type: 'string' },
    },
  });
  const chosen = Object.entries(parts).filter(([name]) => name.includes(values.only));
  if (chosen.length === 0) {
    throw new Error(`--only must be in the name of one of ${Object.keys(parts).join(', ')}`);
  }
  const minutes = Number(values.minutes);
  const seed = Number(values.seed ?? Date.now() % 2 ** 32);
  if (!(minutes >= 0) || !(seed >= 0)) throw new Error('--minutes and --seed must be numbers');
  return { chosen: Object.fromEntries(chosen), seed, forMs: minutes * 60_000 };
}
