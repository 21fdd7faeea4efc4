import { availableParallelism } from 'node:os';
import { postgresPrograms } from '../../test/support/postgres/programs.ts';
import { notesOnDisk } from '../harness/machine.ts';
import { httpLoad, whatToInstall } from '../harness/needs.ts';
import type { Group } from '../harness/result.ts';
import { startPostgres } from '../servers/postgres.ts';
import { measureChat } from './postgres-chat.ts';
import { atOnce, measureMoney } from './postgres-money.ts';

export const postgres: Group = {
  name: 'postgres',
  title: 'PostgreSQL',
  method:
    `The money path on PostgreSQL, every commit synced: find the key and its account, reserve, settle, record, ${atOnce} requests at ` +
    'once on each node. Parley’s groups against Kysely’s own transactions on the same tables, two a request, over as many connections. ' +
    'Then a plain chat of a node on PostgreSQL against a bare relay on the same core.',
  charts: [{ name: 'postgres-money', question: 'How many durable requests a second on PostgreSQL?' }],
  async run(setting) {
    const programs = postgresPrograms();
    if (programs === undefined) return { comparisons: [], facts: [], notes: ['Not installed: postgresql.'] };
    const server = await startPostgres(programs);
    try {
      const money = await measureMoney(server, setting);
      const missing = whatToInstall(httpLoad);
      const chat = missing === undefined ? await measureChat(server, setting) : undefined;
      return {
        comparisons: [...money.comparisons, ...(chat?.comparisons ?? [])],
        facts: chat?.facts ?? [],
        threads: [...money.threads, ...(chat?.threads ?? [])],
        notes: [
          ...notesOnDisk(),
          ...(missing === undefined ? [] : [`The chat on PostgreSQL: ${missing}`]),
          `PostgreSQL, the nodes and the clients share ${availableParallelism()} cores.`,
        ],
      };
    } finally {
      await server.stop();
    }
  },
};
