import { availableParallelism } from 'node:os';
import { postgresPrograms } from '../../test/support/postgres/programs.ts';
import { notesOnDisk } from '../harness/machine.ts';
import { httpLoad } from '../harness/needs.ts';
import type { Group, GroupResult, Setting } from '../harness/result.ts';
import { type Postgres, startPostgres } from '../servers/postgres.ts';
import { measureChat } from './postgres-chat.ts';
import { atOnce, measureMoney } from './postgres-money.ts';

export const postgres: Group = {
  name: 'postgres',
  title: 'PostgreSQL',
  method:
    `The money path on PostgreSQL, every commit synced: find the key and its account, reserve, settle, record, ${atOnce} requests at ` +
    'once on each node. Parley’s groups against Kysely’s own transactions on the same tables, two a request, over as many connections.',
  charts: [{ name: 'postgres-money', question: 'How many durable requests a second on PostgreSQL?' }],
  run: onPostgres(measureMoney),
};

export const postgresChat: Group = {
  name: 'postgres-chat',
  title: 'Chat on PostgreSQL',
  method:
    'A plain chat of a node on PostgreSQL, every commit synced, against a bare relay on the same core, which writes nothing.',
  charts: [],
  needs: httpLoad,
  run: onPostgres(measureChat),
};

function onPostgres(
  measure: (server: Postgres, setting: Setting) => Promise<Omit<GroupResult, 'notes'>>,
): Group['run'] {
  return async (setting) => {
    const programs = postgresPrograms();
    if (programs === undefined) return { comparisons: [], facts: [], notes: ['Not installed: postgresql.'] };
    const server = await startPostgres(programs);
    try {
      const notes = [
        ...notesOnDisk(),
        `PostgreSQL, the nodes and the clients share ${availableParallelism()} cores.`,
      ];
      return { ...(await measure(server, setting)), notes };
    } finally {
      await server.stop();
    }
  };
}
