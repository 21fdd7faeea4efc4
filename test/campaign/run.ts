/**
 * Kills servers and databases, and lets disks, networks, clocks and upstreams fail, while clients pay: after each round the books must
 * keep what the clients were told.
 *
 *   npm run campaign -- --minutes 60                        scenarios at random for an hour, each at least once
 *   npm run campaign -- --only sqlite-kill --minutes 5      those whose names contain it
 *   npm run campaign -- --only sqlite-kill --seed 7         the round that this seed has
 *
 * Exit codes: 0 all promises were kept, 1 one was not, 2 wrong options.
 */
import { parseArgs } from 'node:util';
import { runCampaign } from './campaign.ts';
import { scenarios } from './scenarios.ts';

const print = (line: string) => process.stdout.write(`${line}\n`);

function readOptions() {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '0' },
      only: { type: 'string' },
      seed: { type: 'string' },
    },
  });
  const { only = '' } = values;
  const chosen = Object.fromEntries(Object.entries(scenarios).filter(([name]) => name.includes(only)));
  if (Object.keys(chosen).length === 0) {
    throw new Error(`--only must be in the name of one of ${Object.keys(scenarios).join(', ')}`);
  }
  const minutes = Number(values.minutes);
  const seed = Number(values.seed ?? Date.now() % 2 ** 32);
  if (!(minutes >= 0) || !(seed >= 0)) throw new Error('--minutes and --seed must be numbers');
  return { chosen, seed, forMs: minutes * 60_000 };
}

async function main({ chosen, seed, forMs }: ReturnType<typeof readOptions>): Promise<number> {
  print(`--seed ${seed}`);
  for (const [name, { missing }] of Object.entries(chosen))
    if (missing) print(`left out: ${name}: ${missing}`);
  let isStopped = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      isStopped = true;
      print('This round is the last. Another signal ends it at once.');
    });
  }
  const { rounds, kills, failed } = await runCampaign(chosen, {
    ...{ forMs, seed, print },
    isStopped: () => isStopped,
  });
  print(`${rounds} rounds, ${kills} kills, ${failed} failed`);
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
