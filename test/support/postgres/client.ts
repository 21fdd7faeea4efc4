/** Connections to a PostgreSQL that may still be starting. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { newClient } from '../../../src/store/postgres/database/connection.ts';

const startMsMax = 60_000;

/** Waits until the server accepts connections. */
export async function withClient<T>(url: string, use: (client: Client) => Promise<T>): Promise<T> {
  const deadline = Date.now() + startMsMax;
  for (;;) {
    const client = newClient({ url, name: 'test' });
    // The queries of such a client fail as well.
    client.on('error', () => undefined);
    try {
      await client.connect();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(50);
      continue;
    }
    try {
      return await use(client);
    } finally {
      await client.end();
    }
  }
}
