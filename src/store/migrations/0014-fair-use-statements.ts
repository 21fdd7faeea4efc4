import { type Kysely, sql } from 'kysely';

/**
 * The counts of fair use go to the table `fair_use` once for each statement, not for each row: a group of requests changes many counts at
 * once. For PostgreSQL only.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop trigger fair_use_kept on limit_counts`.execute(db);
  await sql`create or replace function parley_keep_fair_use() returns trigger language plpgsql as $$
    begin
      insert into fair_use (account_id, month, used_units, reserved_units)
        select substr(owner, 5)::uuid, period, used, reserved from changed where unit = 'fair_use'
        on conflict (account_id, month) do update
        set used_units = excluded.used_units, reserved_units = excluded.reserved_units;
      return null;
    end $$`.execute(db);
  // A trigger with a table of the changed rows has one event.
  for (const event of ['insert', 'update']) {
    await sql`create trigger ${sql.ref(`fair_use_kept_at_${event}`)} after ${sql.raw(event)} on limit_counts
      referencing new table as changed
      for each statement when (pg_trigger_depth() = 0) execute function parley_keep_fair_use()`.execute(db);
  }
}
