import type Sqlite from 'better-sqlite3';
import type { Migration } from 'kysely/migration';
import * as initial from './0001-initial.ts';
import * as debitsByRequest from './0002-debits-by-request.ts';
import * as usageRollups from './0003-usage-rollups.ts';
import * as policyVersion from './0004-policy-version.ts';
import * as nodes from './0005-nodes.ts';
import * as limits from './0006-limits.ts';
import * as neededMigrations from './0007-needed-migrations.ts';
import * as alerts from './0008-alerts.ts';
import * as rates from './0009-rates.ts';
import * as endedSessions from './0010-ended-sessions.ts';
import * as fairUseCounts from './0011-fair-use-counts.ts';
import * as integerRows from './0012-integer-rows.ts';
import * as textViews from './0013-text-views.ts';
import * as fairUseStatements from './0014-fair-use-statements.ts';
import * as cachedTokens from './0015-cached-tokens.ts';
import * as usageSums from './0016-usage-sums.ts';
import * as personSessions from './0018-person-sessions.ts';
import * as waitingAddresses from './0019-waiting-addresses.ts';
import * as sumsAtEnd from './0020-sums-at-end.ts';
import { type Change, migrationsOf } from './column-types.ts';
import type { sqliteMigrations } from './names.ts';

/** Applied in the order of their names, and never edited. Imported by name, so that a bundle contains them. */
const changes = {
  '0001-initial': initial,
  '0002-debits-by-request': debitsByRequest,
  '0003-usage-rollups': usageRollups,
  '0004-policy-version': policyVersion,
};

/** Migrations of SQLite. */
export const migrations: Readonly<Record<string, Migration>> = migrationsOf('sqlite', {
  ...changes,
  '0006-limits': limits,
  '0008-alerts': alerts,
  '0010-ended-sessions': endedSessions,
  '0011-fair-use-counts': fairUseCounts,
  '0012-integer-rows': integerRows,
  '0013-text-views': textViews,
  '0015-cached-tokens': cachedTokens,
  '0016-usage-sums': usageSums,
  '0018-person-sessions': personSessions,
  '0019-waiting-addresses': waitingAddresses,
  '0020-sums-at-end': sumsAtEnd,
} satisfies Record<(typeof sqliteMigrations)[number], Change>);
export const postgresMigrations: Readonly<Record<string, Migration>> = migrationsOf('postgres', {
  ...changes,
  '0005-nodes': nodes,
  '0006-limits': limits,
  '0007-needed-migrations': neededMigrations,
  '0008-alerts': alerts,
  '0009-rates': rates,
  '0010-ended-sessions': endedSessions,
  '0011-fair-use-counts': fairUseCounts,
  '0014-fair-use-statements': fairUseStatements,
  '0015-cached-tokens': cachedTokens,
  '0016-usage-sums': usageSums,
  '0018-person-sessions': personSessions,
  '0019-waiting-addresses': waitingAddresses,
  '0020-sums-at-end': sumsAtEnd,
});

/** A newer Parley has changed the schema. */
export class NewerSchemaError extends Error {
  /** @param database path or name of the database */
  constructor(database: string, migration: string) {
    super(
      `A newer Parley has changed the database ${database} (${migration}). Run that version or a newer one, or restore a backup from before.`,
    );
    this.name = 'NewerSchemaError';
  }
}

/** The names of the applied migrations, in order; none if Parley never opened the database. */
export function appliedMigrations(connection: Sqlite.Database): string[] {
  const hasTable = connection
    .prepare<[], unknown>("select 1 from sqlite_schema where name = 'kysely_migration'")
    .get();
  if (hasTable === undefined) return [];
  return connection
    .prepare<[], { name: string }>('select name from kysely_migration order by name')
    .all()
    .map(({ name }) => name);
}

/** Compares the migrations of a database with those of this program. */
export interface SchemaState {
  /** In order; none if Parley never opened the database. */
  readonly applied: readonly string[];
  /** Migrations of this program that are not applied. */
  readonly pending: readonly string[];
  /** A migration that this program must know to use the database, but does not know. */
  readonly tooNew: string | undefined;
}

export function schemaState(connection: Sqlite.Database): SchemaState {
  const applied = appliedMigrations(connection);
  return {
    applied,
    pending: Object.keys(migrations).filter((name) => !applied.includes(name)),
    tooNew: applied.find((name) => !Object.hasOwn(migrations, name)),
  };
}

/** @throws NewerSchemaError */
export function checkKnown(connection: Sqlite.Database, path = connection.name): void {
  const { tooNew } = schemaState(connection);
  if (tooNew !== undefined) throw new NewerSchemaError(path, tooNew);
}
