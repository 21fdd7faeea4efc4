import type { Client } from 'pg';
import { debitEntryId, type RequestId } from '../../core/values/ids.ts';
import { bookFaults } from '../maintenance/books.ts';
import { newClient, openPool } from '../postgres/database/connection.ts';
import { queriesBy } from '../postgres/database/executor.ts';
import { encoded, fromUuid, storable } from '../postgres/database/ids.ts';
import { migrateUrl } from '../postgres/migrate.ts';
import { Partitions } from '../postgres/partitions.ts';
import { StoreError } from '../store-error.ts';
import type { Side } from './copy-store.ts';
import { type Row, tables } from './tables.ts';

const copyName = 'parley store copy';
const otherPrograms = `
  select count(*)::int4 as count from pg_stat_activity
  where datname = current_database() and application_name in ('parley', 'parley node') and pid <> pg_backend_pid()`;
const livingNodes = `select name from nodes where not dead and lease_until > clock_timestamp()`;
/** A dead node. The next server releases its requests, which include the copied open ones. */
const addDeadNode = `insert into nodes (name, version, lease_until, dead) values ('store copy', '', now(), true) returning epoch`;
const open = { usage_records: `state = 'started'`, kept_answers: 'answer is null' };

const lockNotAvailable = '55P03';

/** One call of `keepAhead` creates partitions that last longer than this. */
const keptAheadMs = 80 * 86_400_000;
/** Older records, from a clock that was wrong, share a partition. */
const partitionsMsMax = 3_660 * 86_400_000;

/** Creates partitions for records from `firstMs` until now, so that old months are pruned by dropping them. */
async function makePartitions(url: string, firstMs: number, nowMs = Date.now()): Promise<void> {
  const pool = openPool({ url, connectionsMax: 1, name: copyName });
  try {
    for (let atMs = Math.max(firstMs, nowMs - partitionsMsMax); atMs <= nowMs; atMs += keptAheadMs) {
      await new Partitions(pool).keepAhead(atMs);
    }
    await new Partitions(pool).keepAhead(nowMs);
  } finally {
    await pool.end();
  }
}

/**
 * A PostgreSQL database with the newest schema, in a transaction that nobody else can write beside.
 * @param firstMs of the oldest record that it will get. Default: it gets none
 * @throws StoreError, also if another program uses the database
 */
export async function openPostgresSide(url: string, firstMs?: number): Promise<Side> {
  await migrateUrl(url);
  if (firstMs !== undefined) await makePartitions(url, firstMs);
  const client = newClient({ url, name: copyName, mayTakeLong: true });
  await client.connect();
  try {
    const { database } = (await client.query('select current_database() as database')).rows[0];
    const name = `${database} (PostgreSQL)`;
    await takeAlone(client, name);
    return sideOf(client, name);
  } catch (error) {
    await client.end();
    throw error;
  }
}

async function takeAlone(client: Client, name: string): Promise<void> {
  await client.query(`begin; set local idle_in_transaction_session_timeout = 0; set local statement_timeout = 0;
    set local synchronous_commit = on`);
  const inUse = (who: string) =>
    new StoreError(`${name} is in use by ${who}. Stop all servers before it, then try again.`);
  try {
    const names = tables.map((table) => table.name).join(', ');
    await client.query(`lock table ${names}, nodes in exclusive mode nowait`);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === lockNotAvailable) {
      throw inUse('another program');
    }
    throw error;
  }
  const [node] = (await client.query(livingNodes)).rows;
  if (node) throw inUse(`the server ${node.name}`);
  const { count } = (await client.query(otherPrograms)).rows[0];
  if (count > 0) throw inUse('a server or another command of Parley');
}

function sideOf(client: Client, name: string): Side {
  return {
    ...queriesBy(({ text, values = [] }) => client.query(text, [...values])),
    name,
    async insert({ name: table }, rows) {
      const columns = Object.keys(rows[0] ?? {}).map((column) => `"${column}"`);
      // Passes one parameter, from which the columns get their types.
      const json = JSON.stringify(rows.map((row) => asJson(table, row)));
      await client.query(
        `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1)`,
        [json],
      );
    },
    kept: storable,
    faults: () =>
      bookFaults('postgres', async (sql) => {
        const [row] = (await client.query(sql)).rows;
        return row && fromUuid('account_id', row.id);
      }),
    async commit() {
      await giveToDeadNode(client);
      const { command } = await client.query('commit');
      if (command !== 'COMMIT') throw new StoreError(`${name} has rolled back the copy.`);
      // Without this, plans would be made for empty tables until the database analyzes them by itself.
      await client.query('analyze');
    },
    close: () => client.end(),
  };
}

async function giveToDeadNode(client: Client): Promise<void> {
  for (const [table, isOpen] of Object.entries(open)) {
    const found = await client.query(`select from ${table} where ${isOpen} limit 1`);
    if (found.rowCount === 0) continue;
    const { epoch } = (await client.query(addDeadNode)).rows[0];
    await client.query(`update ${table} set node_epoch = $1 where ${isOpen}`, [epoch]);
  }
}

function asJson(table: string, row: Row): object {
  const values = Object.entries(row).map(([column, value]) => {
    const kept = encoded(column, value);
    if (kept === null && value !== null) {
      throw new StoreError(`${table}.${column} has the value ${value}, which is not an id.`);
    }
    if (kept instanceof Uint8Array) return [column, `\\x${Buffer.from(kept).toString('hex')}`];
    return [column, typeof kept === 'bigint' ? String(kept) : kept];
  });
  return { ...Object.fromEntries(values), ...(isSaidById(row) && { reference: null }) };
}

/** Whether the id of a debit names its request, so that PostgreSQL stores no reference. */
function isSaidById({ kind, reference, id }: Row): boolean {
  return kind === 'debit' && debitEntryId(String(reference) as RequestId) === id;
}
