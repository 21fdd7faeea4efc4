/**
 * Kills servers and databases, and lets disks, networks, clocks and upstreams fail, while clients pay. After each round the books
 * must match the answers that the clients got.
 *
 *   npm run campaign -- --minutes 60                        scenarios at random for an hour, each at least once
 *   npm run campaign -- --only sqlite-kill --minutes 5      those whose names contain it
 *   npm run campaign -- --only sqlite-kill --seed 7         the round that this seed has
 *
 * Exit codes: 0 all promises were kept, 1 one was not, 2 wrong options.
 */
import { print, runSeeded, type SeededOptions } from '../support/seeded-command.ts';
import { runCampaign } from './campaign.ts';
import type { Scenario } from './scenario.ts';
import { scenarios } from './scenarios.ts';

async function main({ chosen, seed, forMs }: SeededOptions<Scenario>): Promise<number> {
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
    forMs,
    seed,
    print,
    isStopped: () => isStopped,
  });
  print(`${rounds} rounds, ${kills} kills, ${failed} failed`);
  return failed;
}

await runSeeded(scenarios, '0', main);
