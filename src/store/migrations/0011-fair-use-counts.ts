import { type Kysely, sql } from 'kysely';
import type { ColumnTypes } from './column-types.ts';

/** Fair use becomes one of the counts of an account. */
export async function up(db: Kysely<unknown>, { dialect }: ColumnTypes): Promise<void> {
  if (dialect === 'postgres') return copyBesideEarlierVersions(db);
  await sql`insert into limit_counts (owner, unit, period, used)
    select account_id, 'fair_use', month, used_units from fair_use`.execute(db);
  // Only this process uses the database, so no started request is running.
  await sql`update usage_records set reserved_units = 0, reserved_month = null where state = 'started'`.execute(
    db,
  );
  await sql`drop table fair_use`.execute(db);
}

/**
 * Nodes of the previous version continue with the table `fair_use`: triggers copy each change to the other table.
 * Changes of either table lock the account first. A later version drops the table, with `needs`.
 */
async function copyBesideEarlierVersions(db: Kysely<unknown>): Promise<void> {
  await sql`lock table fair_use in share row exclusive mode`.execute(db);
  await sql`create function parley_account_owner(id uuid) returns text language sql immutable as
    $$ select 'acc_' || replace(id::text, '-', '') $$`.execute(db);
  await sql`insert into limit_counts (owner, unit, period, used, reserved)
    select parley_account_owner(account_id), 'fair_use', month, used_units, reserved_units from fair_use`.execute(
    db,
  );
  await sql`create function parley_count_fair_use() returns trigger language plpgsql as $$
    begin
      insert into limit_counts (owner, unit, period, used, reserved)
        values (parley_account_owner(new.account_id), 'fair_use', new.month, new.used_units, new.reserved_units)
        on conflict (owner, unit, period) do update set used = excluded.used, reserved = excluded.reserved;
      return null;
    end $$`.execute(db);
  await sql`create function parley_keep_fair_use() returns trigger language plpgsql as $$
    begin
      insert into fair_use (account_id, month, used_units, reserved_units)
        values (substr(new.owner, 5)::uuid, new.period, new.used, new.reserved)
        on conflict (account_id, month) do update
        set used_units = excluded.used_units, reserved_units = excluded.reserved_units;
      return null;
    end $$`.execute(db);
  // At depth 0 a node makes the change; otherwise the other trigger makes it.
  await sql`create trigger fair_use_counted after insert or update on fair_use
    for each row when (pg_trigger_depth() = 0) execute function parley_count_fair_use()`.execute(db);
  await sql`create trigger fair_use_kept after insert or update on limit_counts
    for each row when (new.unit = 'fair_use' and pg_trigger_depth() = 0) execute function parley_keep_fair_use()`.execute(
    db,
  );
}
