/**
 * Usage records are in a partition for each month (UTC) of their ids, which begin with their time. A month is removed by dropping its
 * partition.
 */
import { DatabaseError, type Pool } from 'pg';
import type { AuditEntry } from '../../core/entities/audit.ts';
import { firstRequestId } from '../../core/values/ids.ts';
import { insertAudit } from '../entities/audit.ts';
import { countOf } from '../entities/prune.ts';
import { queriesBy, queryOf } from './database/executor.ts';
import { boundUuid } from './database/ids.ts';
import { patiently } from './database/patience.ts';
import { exclusively, type Transaction, transact } from './database/transaction.ts';

/** Number of partitions for later months. Records of other times are in a partition for the rest. */
const monthsAhead = 2;
/** Error code (SQLSTATE). */
const checkViolation = '23514';
const lockNotAvailable = '55P03';
/** Whoever waits for the lock of the whole table delays all requests. */
const waitBriefly = "set local lock_timeout = '300ms'";
const beginBriefly = `begin; ${waitBriefly}`;
/** Time to count the records of a month. */
const dropMsMax = 3_600_000;
const prefix = 'usage_records_';

/** Months since the year 0. */
type MonthNumber = number;

const monthOf = (ms: number): MonthNumber => new Date(ms).getUTCFullYear() * 12 + new Date(ms).getUTCMonth();
const startOf = (month: MonthNumber): number => Date.UTC(Math.floor(month / 12), month % 12);
const nameOf = (month: MonthNumber) =>
  prefix + new Date(startOf(month)).toISOString().slice(0, 7).replace('-', '_');

const namesOfMonths = `select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
  where inhparent = 'usage_records'::regclass and relname ~ '^${prefix}\\d{4}_\\d{2}$' order by relname`;

export class Partitions {
  readonly #pool: Pool;
  /** The last month with a partition. */
  #until: MonthNumber = 0;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Creates the partitions of this month and the next ones, if they are missing. */
  async keepAhead(nowMs: number): Promise<void> {
    const first = monthOf(nowMs);
    const until = first + monthsAhead;
    if (until <= this.#until) return;
    for (let month = first; month <= until; month++) if (!(await this.#create(month))) return;
    this.#until = until;
  }

  /**
   * Does nothing if the partition exists, or if records of that month are elsewhere and would have to move. False while
   * a long read, such as a backup, uses the table: all requests would wait behind this.
   */
  async #create(month: MonthNumber): Promise<boolean> {
    const [from, to] = [month, month + 1].map((at) => `('${boundUuid(firstRequestId(startOf(at)))}')`);
    const text = `create table if not exists ${nameOf(month)} partition of usage_records for values from ${from} to ${to}`;
    try {
      const write = async (transaction: Transaction) => {
        transaction.query(exclusively);
        transaction.query({ text });
      };
      await transact(this.#pool, write, { begin: beginBriefly });
      return true;
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      if (error.code === lockNotAvailable) return false;
      if (error.code !== checkViolation) throw error;
      return true;
    }
  }

  /**
   * Drops partitions whose months end before `beforeMs`, until `recordsMax` are
   * removed. Skips a partition with a record that must stay. Writes the audit entry if it removes anything. Returns the
   * number of removed records.
   */
  async drop(beforeMs: number, recordsMax: number, audit: AuditEntry): Promise<number> {
    let removed = 0;
    const { rows } = await this.#pool.query<{ name: string }>(namesOfMonths);
    for (const { name } of rows) {
      const [year = 0, month = 0] = name.slice(prefix.length).split('_').map(Number);
      const number = year * 12 + month - 1;
      if (startOf(number + 1) > beforeMs || removed >= recordsMax) break;
      const entry = removed === 0 ? audit : undefined;
      removed += await patiently(() =>
        transact(
          this.#pool,
          (transaction) => dropOne(transaction, { name, month: number, beforeMs, audit: entry }),
          { msMax: dropMsMax },
        ),
      );
    }
    return removed;
  }
}

interface Dropped {
  readonly name: string;
  readonly month: MonthNumber;
  readonly beforeMs: number;
  readonly audit: AuditEntry | undefined;
}

async function dropOne(transaction: Transaction, { name, month, beforeMs, audit }: Dropped): Promise<number> {
  const [after = '', last = ''] = [month, month + 1].map((at) => firstRequestId(startOf(at)));
  const stretch = { after, last, beforeMs: BigInt(beforeMs) };
  transaction.query(exclusively);
  const counted = await queriesBy((query) => transaction.query(query)).get(countOf, stretch);
  const { all = 0n, prunable = 0n } = counted ?? {};
  if (all > prunable) return 0;
  if (audit && all > 0n) {
    const { statement, parameters } = insertAudit(audit);
    transaction.query(queryOf(statement, parameters));
  }
  // Records of an ended month do not change, so only this step needs a lock: first of the whole table, in the order of
  // requests.
  transaction.query({ text: waitBriefly });
  transaction.query({ text: 'lock table usage_records in access exclusive mode' });
  transaction.query({ text: `drop table ${name}` });
  return Number(all);
}
