/** Databases in the PostgreSQL of the tests. Each is a copy of one with all tables. */
import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { openPostgresStore } from '../../../src/store/postgres/open-store.ts';
import { withClient } from './client.ts';

/** The reason why tests on PostgreSQL do not run; undefined if they do. */
export const missingPostgres =
  inject('postgresUrl') === ''
    ? 'PostgreSQL is not installed (Debian package postgresql), and PARLEY_TEST_POSTGRES_URL is not set'
    : undefined;

const template = `parley_template_${process.pid}`;
let templated: Promise<void> | undefined;

export interface TestDatabase {
  readonly url: string;
  /** Runs SQL as another program. */
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Ends all connections, refuses new ones, and returns a copy. */
  cutOff(): Promise<TestDatabase>;
  /** Ends all connections and removes it. */
  drop(): Promise<void>;
}

/** A new database with all tables, which are empty. */
export async function newDatabase(): Promise<TestDatabase> {
  templated ??= makeTemplate();
  await templated;
  return copyOf(template);
}

async function copyOf(other: string): Promise<TestDatabase> {
  const name = `parley_${randomBytes(8).toString('hex')}`;
  await administer(`create database ${name} template ${other}`);
  return databaseOf(name);
}

function databaseOf(name: string): TestDatabase {
  const url = urlOf(name);
  return {
    url,
    query: (text, values = []) =>
      withClient(url, async (client) => (await client.query(text, [...values])).rows),
    async cutOff() {
      await administer(`alter database ${name} allow_connections false`);
      await administer(
        `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${name}'`,
      );
      return copyOf(name);
    },
    drop: () => administer(`drop database if exists ${name} with (force)`),
  };
}

async function makeTemplate(): Promise<void> {
  await administer(`drop database if exists ${template}`);
  await administer(`create database ${template}`);
  const store = await openPostgresStore({ url: urlOf(template) });
  await store.close();
}

function urlOf(database: string): string {
  return inject('postgresUrl').replace(/^(postgres(?:ql)?:\/\/[^/]*)\/[^?]*/, `$1/${database}`);
}

async function administer(sql: string): Promise<void> {
  await withClient(inject('postgresUrl'), (client) => client.query(sql));
}
