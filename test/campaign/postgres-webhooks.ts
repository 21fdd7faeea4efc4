import type { Serving } from '../support/command-line.ts';
import { Nodes } from '../support/postgres/nodes.ts';
import { missingPostgres, startPostgres } from './postgres-cluster.ts';
import type { Scenario } from './scenario.ts';
import { playWebhooks, webhookSettings } from './webhooks.ts';

export const postgresWebhooks: Scenario = {
  missing: missingPostgres,
  async play(round) {
    const nodes = await Nodes.create(await startPostgres(round), round.random, webhookSettings);
    round.defer(() => nodes.close());
    const running: Serving[] = [];
    round.defer(() => Promise.all(running.map((node) => node.end())));
    for (let n = 0; n < 2; n++) running.push(await nodes.serve());
    return playWebhooks(round, { adminKey: nodes.keys.adminKey, running, start: () => nodes.serve() });
  },
};
