/** The only node of a PostgreSQL is killed while somebody speaks, and another one takes its place. */
import { readPostgresBooks } from '../support/postgres/books.ts';
import { withClient } from '../support/postgres/client.ts';
import { playLiveMoments } from './live-moments.ts';
import { missingPostgres, startPostgres } from './postgres-cluster.ts';
import type { Scenario } from './scenario.ts';

export const postgresLive: Scenario = {
  missing: missingPostgres,
  async play(round) {
    const postgres = await startPostgres(round);
    await withClient(postgres.url, async () => undefined);
    return playLiveMoments(round, {
      settings: { store: { kind: 'postgres', url: postgres.url } },
      readBooks: () => readPostgresBooks({ url: postgres.url }),
    });
  },
};
