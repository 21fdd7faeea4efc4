/** Three nodes under load, while one of them, the database or the network between them fails, one after the other. */
import { disturbances, killFirst } from './disturbances.ts';
import { Cluster, missingPostgres, startPostgres } from './postgres-cluster.ts';
import type { Scenario } from './scenario.ts';

export const postgresNodes: Scenario = {
  missing: missingPostgres,
  async play(round) {
    const cluster = await Cluster.open(round, await startPostgres(round));
    await cluster.startAll();
    await cluster.answerMore();
    await killFirst(cluster);
    const left = [...disturbances];
    while (left.length > 0) {
      const [disturb] = left.splice(round.random.below(left.length), 1);
      await disturb?.(cluster);
      await cluster.answerMore();
    }
    return cluster.check();
  },
};
