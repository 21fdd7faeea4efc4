import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { PoolClient } from 'pg';
import { outcomeBefore } from '../../core/books/enter.ts';
import type { AuditEntry } from '../../core/entities/audit.ts';
import type { IdempotencyClaim, IdempotencyStore } from '../../core/entities/idempotency.ts';
import type { EntryOutcome, LedgerEntry } from '../../core/entities/ledger.ts';
import type { Store, StoreObserver } from '../../core/entities/store.ts';
import type { UsageStore } from '../../core/entities/usage.ts';
import { nanoCredits } from '../../core/values/money.ts';
import { accountById } from '../entities/accounts.ts';
import { entityStores } from '../entities/entity-stores.ts';
import { claimKey, claimOutcome, endClaim } from '../entities/idempotency.ts';
import { prune } from '../entities/prune.ts';
import { policyChannel } from '../migrations/postgres-tables.ts';
import type { Executor } from '../sql/executor.ts';
import { statement } from '../sql/statement.ts';
import { openPool } from './database/connection.ts';
import { postgresExecutor } from './database/executor.ts';
import { Health } from './database/health.ts';
import { Node } from './database/node.ts';
import { soon } from './database/patience.ts';
import { KeyCache } from './key-cache.ts';
import { migrateUrl } from './migrate.ts';
import { Partitions } from './partitions.ts';
import { endRequestsOfDeadNodes } from './recovery.ts';
import { Groups, type Operation } from './requests/groups.ts';
import { Requests } from './requests/requests.ts';

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

/** Opens the store of a database, and creates its tables if they are missing. @throws StoreError */
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
  const executor = postgresExecutor(pool);
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

interface NodeRow {
  readonly epoch: bigint;
  readonly name: string;
  readonly version: string;
  readonly dead: boolean;
  readonly lease_ends_at_ms: number;
  readonly late_ms: number;
}

const nodesInOrder = statement(
  (_: object) => sql<NodeRow>`select epoch, name, version, dead,
    (extract(epoch from lease_until) * 1000)::float8 as lease_ends_at_ms,
    greatest(extract(epoch from clock_timestamp() - lease_until) * 1000, 0)::float8 as late_ms
  from nodes order by epoch`,
).map(({ lease_ends_at_ms, late_ms, dead, ...row }) => ({
  ...row,
  state: dead ? ('dead' as const) : late_ms > 0 ? ('late' as const) : ('alive' as const),
  leaseEndsAtMs: Math.round(lease_ends_at_ms),
  lateMs: Math.round(late_ms),
}));

interface PostgresStoreDeps {
  readonly executor: Executor;
  readonly groups: Groups;
  readonly node: Node;
  readonly partitions: Partitions;
  readonly keyCache: KeyCache;
  /** Releases the connections. */
  readonly close: () => Promise<void>;
}

/** Every operation of the store, on a PostgreSQL database that other nodes may share. */
function postgresStore(deps: PostgresStoreDeps): Store {
  const { executor, groups, node, partitions, keyCache } = deps;
  const policyChanged = () => keyCache.clear();
  const requests = new Requests({
    executor,
    groups,
    policyChanged,
    async recover(nowMs) {
      // Registers the node at once, so that it also releases the requests of nodes that die later.
      await node.epoch();
      await partitions.keepAhead(nowMs);
      return endRequestsOfDeadNodes(deps, nowMs);
    },
  });
  let isClosed = false;
  const stores = entityStores(executor, {
    findKey: (hash) => keyCache.find(hash),
    policyChanged,
    credits: {
      async available(id) {
        const { balance = 0n, held = 0n } = (await executor.get(accountById, { id })) ?? {};
        return nanoCredits(balance - held);
      },
      enter: (entry, audit) => groups.run(enteringOf(entry, audit)),
    },
    claim: claiming(deps, () => isClosed),
  });
  return {
    ...stores,
    usage: { ...stores.usage, prune: pruningPartitions(deps) },
    requests,
    nodes: {
      async list() {
        const nodes = await executor.all(nodesInOrder, {});
        return nodes.map(({ epoch, ...state }) => ({ ...state, isOwn: node.is(epoch) }));
      },
    },
    async close() {
      isClosed = true;
      await groups.close();
      await node.close(requests.isIdle);
      await deps.close();
    },
  };
}

/** Drops the partitions of whole months first. */
function pruningPartitions({ partitions, executor }: PostgresStoreDeps): UsageStore['prune'] {
  return async (cut, recordsMax, audit) => {
    const dropped = await partitions.drop(cut.recordsBeforeMs, recordsMax, audit);
    const entry = dropped === 0 ? audit : undefined;
    const { records, ...pruned } = await prune(executor, cut, recordsMax - dropped, entry);
    return { ...pruned, records: records + dropped };
  };
}

/** Pause before another attempt to free a key that may have been claimed. */
const freeAgainMs = 1_000;

/** Claims Idempotency-Keys for this node. @param isClosed whether the store is closed */
function claiming(
  { node, executor }: Pick<PostgresStoreDeps, 'node' | 'executor'>,
  isClosed: () => boolean,
): IdempotencyStore['claim'] {
  const free = async (claim: IdempotencyClaim): Promise<void> => {
    for (let isFree = false; !isFree && !isClosed(); ) {
      await sleep(freeAgainMs, undefined, { ref: false });
      // Fails while the database is unreachable.
      isFree = await executor.run({ steps: [endClaim({ claim, answer: undefined })] }).then(
        () => true,
        () => false,
      );
    }
  };
  return async (claim) => {
    const running = node
      .epoch()
      .then((nodeEpoch) => executor.run({ steps: claimKey({ ...claim, nodeEpoch }) }));
    try {
      return claimOutcome(claim, await soon(running));
    } catch (error) {
      // The key may be claimed, or may be claimed soon.
      void running.catch(() => undefined).then(() => free(claim));
      throw error;
    }
  };
}

/** A load or an adjustment. */
function enteringOf(entry: LedgerEntry, audit: AuditEntry): Operation<EntryOutcome> {
  const { accountId, amount } = entry;
  return {
    accountId,
    entry,
    decide(rows, writes) {
      const funds = rows.funds(accountId);
      const outcome = outcomeBefore(funds, entry, rows.entry(entry));
      if (outcome) return outcome;
      funds.balance += amount;
      rows.addEntry(entry);
      writes.insertedEntries.push(entry);
      writes.audits.push(audit);
      return 'entered';
    },
  };
}
