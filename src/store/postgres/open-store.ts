import type { PoolClient } from 'pg';
import type { Store, StoreObserver } from '../../core/entities/store.ts';
import { policyChannel } from '../migrations/postgres-tables.ts';
import { openPool } from './database/connection.ts';
import { PostgresExecutor } from './database/executor.ts';
import { Health } from './database/health.ts';
import { Node } from './database/node.ts';
import { KeyCache } from './key-cache.ts';
import { migrateUrl } from './migrate.ts';
import { Partitions } from './partitions.ts';
import { postgresStore } from './postgres-store.ts';
import { endRequestsOfDeadNodes } from './recovery.ts';
import { Groups } from './requests/groups.ts';

export interface PostgresOptions {
  /** The connection string, with the password if there is one. */
  readonly url: string;
  /** Default: 10 */
  readonly connectionsMax?: number;
  /** Default: none. */
  readonly observer?: StoreObserver | undefined;
  /** How long this node counts as alive without a heartbeat. Default: 3 seconds */
  readonly leaseMs?: number;
  /** Version of this program. */
  readonly version?: string;
  /** Default: the time of this machine. */
  readonly now?: () => number;
}

const connectionsByDefault = 10;
const leaseMsByDefault = 3_000;
const nobody: StoreObserver = { failing: () => undefined, working: () => undefined, lost: () => undefined };

/** Opens the store of a database, and creates its tables if they are missing. @throws NewerSchemaError; DatabaseUnusableError */
export async function openPostgresStore({
  url,
  connectionsMax = connectionsByDefault,
  observer = nobody,
  leaseMs = leaseMsByDefault,
  version = '',
  now = Date.now,
}: PostgresOptions): Promise<Store> {
  await migrateUrl(url);
  const health = new Health(observer);
  const pool = openPool({ url, connectionsMax, name: 'parley' });
  // Heartbeats must not wait for requests. Their connection also gets notifications of changes by other nodes.
  const own = openPool({ url, connectionsMax: 1, name: 'parley node' });
  const executor = new PostgresExecutor(pool);
  const keyCache = new KeyCache(executor);
  own.on('connect', (client) => listen(client, () => keyCache.clear()));
  const partitions = new Partitions(pool);
  const onDue = async () => {
    await endRequestsOfDeadNodes({ executor, groups }, now());
    await partitions.keepAhead(now());
  };
  const node = new Node({ pool: own, health, version, leaseMs, onDue });
  const groups: Groups = new Groups({ pool, node, health });
  const close = async () => void (await Promise.all([pool.end(), own.end()]));
  return postgresStore({ executor, groups, node, partitions, keyCache, close });
}

/** If a pooler or the database has no notifications, nodes see changes when their cached keys expire. */
function listen(client: PoolClient, onChange: () => void): void {
  client.on('notification', onChange);
  client.query(`listen ${policyChannel}`).catch(() => undefined);
}
