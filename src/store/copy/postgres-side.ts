import type { Client } from 'pg';
import { debitEntryId, type RequestId, requestOfDebit } from '../../core/values/ids.ts';
import { bookFaults } from '../maintenance/books.ts';
import { plainArray, textArray } from '../postgres/database/arrays.ts';
import { newClient, openPool } from '../postgres/database/connection.ts';
import { fromUuid, storable, toUuid } from '../postgres/database/ids.ts';
import { migrateUrl } from '../postgres/migrate-url.ts';
import { Partitions } from '../postgres/partitions.ts';
import { CopyError, type Row, type Side, type Table, type Value } from './side.ts';

const copyName = 'parley store copy';
/** Tables with the types of their columns. Those that no table of the list refers to come last. */
const selectTables = `
  select c.oid::int4, relname as name,
    array(select attname::text from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped order by attnum) as columns,
    array(select format_type(atttypid, null) from pg_attribute
      where attrelid = c.oid and attnum > 0 and not attisdropped order by attnum) as types,
    coalesce((select array(select attname::text from unnest(conkey) with ordinality as k (num, place)
      join pg_attribute on attrelid = c.oid and attnum = num order by place)
      from pg_constraint where conrelid = c.oid and contype = 'p'), '{}') as key,
    array(select confrelid::int4 from pg_constraint where conrelid = c.oid and contype = 'f' and confrelid <> c.oid) as refers
  from pg_class as c
  where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition order by relname`;
const otherPrograms = `
  select count(*)::int4 as count from pg_stat_activity
  where datname = current_database() and application_name in ('parley', 'parley node') and pid <> pg_backend_pid()`;
const livingNodes = `select name from nodes where not dead and lease_until > clock_timestamp()`;
/** A dead node, so that the next server ends the requests that the copy has left open. */
const addDeadNode = `insert into nodes (name, version, lease_until, dead) values ('store copy', '', now(), true) returning epoch`;
const open = { usage_records: `state = 'started'`, kept_answers: 'answer is null' };

const lockNotAvailable = '55P03';
const rowsAtOnce = 2_000;
/** A row with an answer may have 8 MB. */
const largeRowsAtOnce = 20;

interface TypedTable extends Table {
  readonly oid: number;
  readonly types: readonly string[];
  readonly refers: readonly number[];
}

/** One call of `keepAhead` makes partitions for longer than this. */
const keptAheadMs = 80 * 86_400_000;
/** Older records, of a clock that was wrong, share a partition. */
const partitionsMsMax = 3_660 * 86_400_000;

/** Makes partitions for records from `firstMs` until now, so that old months are pruned by dropping them. */
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
 * @throws NewerSchemaError; DatabaseUnusableError; CopyError if another program uses the database
 */
export async function openPostgresSide(url: string, firstMs?: number): Promise<Side> {
  await migrateUrl(url);
  if (firstMs !== undefined) await makePartitions(url, firstMs);
  const client = newClient({ url, name: copyName, mayTakeLong: true });
  await client.connect();
  try {
    const { database } = (await client.query('select current_database() as database')).rows[0];
    const name = `${database} (PostgreSQL)`;
    const tables = await takeAlone(client, name);
    return new PostgresSide(name, client, tables);
  } catch (error) {
    await client.end();
    throw error;
  }
}

async function takeAlone(client: Client, name: string): Promise<TypedTable[]> {
  await client.query(`begin; set local idle_in_transaction_session_timeout = 0; set local statement_timeout = 0;
    set local synchronous_commit = on`);
  const { rows } = await client.query(selectTables);
  const names = rows.map((table) => quoted(table.name)).join(', ');
  const inUse = (who: string) =>
    new CopyError(`${name} is in use by ${who}. Stop all servers before it, then try again.`);
  try {
    await client.query(`lock table ${names} in exclusive mode nowait`);
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
  return inOrder(rows);
}

/** Tables after those that they refer to. */
function inOrder(tables: readonly TypedTable[]): TypedTable[] {
  const ordered = new Set<TypedTable>();
  const add = (table: TypedTable) => {
    if (ordered.has(table)) return;
    for (const other of tables) if (table.refers.includes(other.oid)) add(other);
    ordered.add(table);
  };
  for (const table of tables) add(table);
  return [...ordered];
}

const quoted = (name: string) => `"${name}"`;
const list = (names: readonly string[]) => names.map(quoted).join(', ');

class PostgresSide implements Side {
  readonly name: string;
  readonly #client: Client;
  readonly #tables: readonly TypedTable[];

  constructor(name: string, client: Client, tables: readonly TypedTable[]) {
    this.name = name;
    this.#client = client;
    this.#tables = tables;
  }

  async tables(): Promise<readonly Table[]> {
    return this.#tables;
  }

  async count({ name }: Table): Promise<number> {
    const { rows } = await this.#client.query(`select count(*) from ${quoted(name)}`);
    return Number(rows[0].count);
  }

  async *rows(table: Table): AsyncIterable<readonly Row[]> {
    const { name, columns, key } = table;
    const types = this.#typesOf(table);
    const size = types.includes('bytea') ? largeRowsAtOnce : rowsAtOnce;
    await this.#client.query(
      `declare copied no scroll cursor for select ${list(columns)} from ${quoted(name)} order by ${list(key)}`,
    );
    for (;;) {
      const { rows } = await this.#client.query({ text: `fetch ${size} from copied`, rowMode: 'array' });
      if (rows.length === 0) break;
      yield rows.map((row) => decoded(table, types, row as Value[]));
    }
    await this.#client.query('close copied');
  }

  async insert(table: Table, rows: readonly Row[]): Promise<void> {
    const { name, columns } = table;
    const types = this.#typesOf(table);
    const encoded = rows.map((row) => withoutDebitReference(table, row));
    const values = columns.map((column, index) =>
      arrayOf(
        types[index] ?? '',
        encoded.map((row) => row[index] ?? null),
        `${name}.${column}`,
      ),
    );
    const arrays = types.map((type, index) => `$${index + 1}::${type}[]`).join(', ');
    await this.#client.query(
      `insert into ${quoted(name)} (${list(columns)}) select * from unnest(${arrays})`,
      values,
    );
  }

  async firstRecordMs(): Promise<number | undefined> {
    const { rows } = await this.#client.query('select started_at_ms from usage_records order by id limit 1');
    return rows[0] && Number(rows[0].started_at_ms);
  }

  kept = storable;

  faults = (): Promise<readonly string[]> =>
    bookFaults('postgres', async (sql) => {
      const [row] = (await this.#client.query(sql)).rows;
      return row && fromUuid('account_id', row.id);
    });

  async commit(): Promise<void> {
    await this.#giveToDeadNode();
    const { command } = await this.#client.query('commit');
    if (command !== 'COMMIT') throw new CopyError(`${this.name} has rolled back the copy.`);
    // Plans would else be made for empty tables until the database analyzes them by itself.
    await this.#client.query('analyze');
  }

  async close(): Promise<void> {
    await this.#client.end();
  }

  async #giveToDeadNode(): Promise<void> {
    for (const [table, isOpen] of Object.entries(open)) {
      const found = await this.#client.query(`select from ${table} where ${isOpen} limit 1`);
      if (found.rowCount === 0) continue;
      const { epoch } = (await this.#client.query(addDeadNode)).rows[0];
      await this.#client.query(`update ${table} set node_epoch = $1 where ${isOpen}`, [epoch]);
    }
  }

  #typesOf({ name, columns }: Table): string[] {
    const table = this.#tables.find((one) => one.name === name);
    return columns.map((column) => table?.types[table.columns.indexOf(column)] ?? '');
  }
}

/** Stands for an empty id. */
const noUuid = '00000000-0000-0000-0000-000000000000';

function arrayOf(type: string, values: readonly Value[], column: string): unknown {
  switch (type) {
    case 'uuid':
      return plainArray(values.map((value) => uuidOf(value, column)));
    case 'bigint':
    case 'integer':
      return plainArray(values as (bigint | null)[]);
    case 'text':
      return textArray(values as (string | null)[]);
    case 'bytea':
      return values;
    default:
      throw new CopyError(`The column ${column} has the type ${type}, which cannot be copied.`);
  }
}

function uuidOf(value: Value, column: string): string | null {
  if (value === null) return null;
  // Sums from before keys were counted apart.
  if (value === '') return noUuid;
  const uuid = toUuid(String(value));
  if (uuid === null) throw new CopyError(`${column} has the value ${value}, which is no id.`);
  return uuid;
}

function decoded(table: Table, types: readonly string[], row: Value[]): Row {
  for (const [index, type] of types.entries()) {
    const value = row[index] ?? null;
    if (value === null) continue;
    const column = table.columns[index] ?? '';
    if (value === noUuid) row[index] = '';
    else if (type === 'uuid') row[index] = fromUuid(column === 'id' ? table.name : column, String(value));
    if (type === 'integer') row[index] = BigInt(value as never);
  }
  return withDebitReference(table, row);
}

/** The reference of a debit is its request. PostgreSQL keeps null where the id of the debit says it. */
function withoutDebitReference(table: Table, row: Row): Row {
  const place = debitPlace(table, row);
  if (place === undefined || row[place.reference] === null) return row;
  const reference = String(row[place.reference]) as RequestId;
  return debitEntryId(reference) === row[place.id] ? row.with(place.reference, null) : row;
}

function withDebitReference(table: Table, row: Row): Row {
  const place = debitPlace(table, row);
  if (place === undefined || row[place.reference] !== null) return row;
  return row.with(place.reference, requestOfDebit(String(row[place.id])));
}

function debitPlace({ name, columns }: Table, row: Row): { id: number; reference: number } | undefined {
  if (name !== 'ledger_entries' || row[columns.indexOf('kind')] !== 'debit') return undefined;
  return { id: columns.indexOf('id'), reference: columns.indexOf('reference') };
}
