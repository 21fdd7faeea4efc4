/** Programs of several versions on one database. */
import type { Pool } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Migration } from '../../../src/store/migrations/column-types.ts';
import { migrations } from '../../../src/store/migrations/migrations.ts';
import { openPool } from '../../../src/store/postgres/database/connection.ts';
import { migrate, schemaState } from '../../../src/store/postgres/migrate.ts';
import { openPostgresStore } from '../../../src/store/postgres/open-store.ts';
import { newDatabase, type TestDatabase } from '../../support/postgres/database.ts';

let database: TestDatabase;
let pool: Pool;
beforeEach(async () => {
  database = await newDatabase();
  pool = openPool({ url: database.url, connectionsMax: 5, name: 'test' });
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

const adds: Migration = { up: async (run) => void (await run('alter table accounts add column note text')) };
const removes: Migration = {
  needs: '9001-adds',
  up: async (run) => void (await run('alter table audit_entries drop column details')),
};
const older = migrations;
const newer = { ...older, '9001-adds': adds };
const newest = { ...newer, '9002-removes': removes };

describe('a migration that only adds', () => {
  it('lets programs of the previous version continue and restart', async () => {
    expect(await migrate(pool, newer)).toEqual(['9001-adds']);
    expect(await migrate(pool, older)).toEqual([]);
    const store = await openPostgresStore({ url: database.url });
    expect(await store.isEmpty()).toBe(true);
    await store.close();
    expect(await schemaState(pool, older)).toMatchObject({ pending: [], tooNew: undefined });
  });
});

describe('a migration that removes', () => {
  it('is refused only by programs that still use the removed parts', async () => {
    await migrate(pool, newest);
    expect(await migrate(pool, newer)).toEqual([]);
    await expect(migrate(pool, older)).rejects.toThrow(
      /^A newer Parley has changed the database parley_\w+ \(9001-adds\)\. Run that version/,
    );
  });
});

it('refuses to add its own migrations to those of a newer program', async () => {
  await migrate(pool, newer);
  const other = { ...older, '9003-other': adds };
  await expect(migrate(pool, other)).rejects.toThrow(/\(9001-adds\)/);
  expect(await schemaState(pool, newer)).toMatchObject({ pending: [] });
});

it('changes nothing if one of the migrations fails', async () => {
  const failing: Migration = { up: async (run) => void (await run('select 1 / 0')) };
  const more = { ...newer, '9002-fails': failing };
  await expect(migrate(pool, more)).rejects.toThrow('division by zero');
  expect(await schemaState(pool, newer)).toMatchObject({ pending: ['9001-adds'] });
});

it('happens once if programs start at the same time on an empty database', async () => {
  await database.query('drop schema public cascade');
  await database.query('create schema public');
  const done = await Promise.all([1, 2, 3, 4].map(() => migrate(pool)));
  expect(done.flat()).toEqual(Object.keys(migrations));
});
