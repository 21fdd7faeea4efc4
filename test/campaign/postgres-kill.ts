/** Nodes and the database are killed at random moments, one after the other. */
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../support/command-line.ts';
import { Cluster, missingPostgres, startPostgres } from './postgres-cluster.ts';
import type { Scenario } from './scenario.ts';

const kills = 10;
/** The highest number of answers before a kill. */
const answersMax = 40;

export const postgresKill: Scenario = {
  missing: missingPostgres,
  async play(round) {
    const { random } = round;
    const cluster = await Cluster.open(round, await startPostgres(round));
    await cluster.startAll();
    for (let kill = 0; kill < kills; kill++) {
      const enough = cluster.nodes.answered + random.below(answersMax);
      await until(() => cluster.nodes.answered >= enough || cluster.hasSurprises());
      await sleep(random.below(50));
      if (random.onceIn(3)) {
        await cluster.nodes.postgres.stop('SIGQUIT');
        round.kills++;
        cluster.nodes.postgres.start();
      } else {
        await cluster.killOne();
        await cluster.startAll([{}]);
      }
    }
    await cluster.answerMore();
    return cluster.check();
  },
};
