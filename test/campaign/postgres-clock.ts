/** The clocks of three nodes are set forward and back independently, while clients pay and nodes are killed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { scratchFolder } from '../support/command-line.ts';
import { missingFaketime, SteppedClock } from './clock-steps.ts';
import { killFirst } from './disturbances.ts';
import { Cluster, missingPostgres, startPostgres } from './postgres-cluster.ts';
import type { Scenario } from './scenario.ts';

const steps = 5;
/** The nodes read the files of their clocks each second. */
const noticedMs = 1_100;

export const postgresClock: Scenario = {
  missing: missingPostgres ?? missingFaketime,
  async play(round) {
    const { random } = round;
    const folder = scratchFolder();
    round.defer(() => folder.remove());
    const clocks = [1, 2, 3].map((n) => new SteppedClock(folder, round, `clock-${n}`));
    const cluster = await Cluster.open(round, await startPostgres(round));
    await cluster.startAll(clocks.map(({ env }) => env));
    await cluster.answerMore();
    // The clock of the machine is days from the others, where keys expire after one.
    await killFirst(cluster, random.pick(clocks).env);
    for (let step = 0; step < steps; step++) {
      await cluster.answerMore();
      random.pick(clocks).step();
      await sleep(noticedMs);
      if (!random.onceIn(2)) continue;
      await cluster.killOne();
      await cluster.startAll([random.pick(clocks).env]);
    }
    await cluster.answerMore();
    return `${steps} steps, ${await cluster.check()}`;
  },
};
