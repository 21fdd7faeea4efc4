/** `parley doctor` and `parley migrate` on a PostgreSQL database. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { migrations as known } from '../../../src/store/migrations/migrations.ts';
import { diagnoseDurability, diagnosePostgres } from '../../../src/store/postgres/diagnostics.ts';
import { parley, serve } from '../../support/command-line.ts';
import { newDatabase, type TestDatabase } from '../../support/postgres/database.ts';
import { missingPgbouncer, startPgbouncer } from '../../support/postgres/pgbouncer.ts';

const migrations = Object.keys(known);
let folder: string;
let database: TestDatabase;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-doctor-'));
  database = await newDatabase();
});
afterEach(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});

interface Found {
  readonly area?: string;
  readonly subject: string;
  readonly state: string;
  readonly found: string;
}

const options = (url = database.url) => ({
  cwd: folder,
  env: { PARLEY_STORE_KIND: 'postgres', PARLEY_STORE_URL: url, PARLEY_SERVER_PORT: '0' },
});

async function found(subject: string, { url = database.url, now = Date.now, connectionsMax = 10 } = {}) {
  const diagnostics = await diagnosePostgres({ url, connectionsMax, now });
  return diagnostics.find((one) => one.subject === subject);
}

const databaseName = () => new URL(database.url.replace('@/', '@host/')).pathname.slice(1);

describe('parley doctor', () => {
  it('finds only the missing admin key in a new database, and changes nothing', async () => {
    const { stdout } = await parley(['doctor', '--json'], options());
    const checks: Found[] = JSON.parse(stdout).checks;
    const ofDatabase = checks.filter(({ area }) => area === 'database');
    expect(ofDatabase.map(({ subject, state }) => `${subject}: ${state}`)).toEqual([
      'database: ok',
      'durability: ok',
      'transactions: ok',
      'encoding: ok',
      'encryption: ok',
      'pooler: ok',
      'connections: ok',
      'distance: ok',
      'clocks: ok',
      'schema: ok',
      'admin keys: warning',
      'servers: ok',
    ]);
    expect(await database.query('select from nodes')).toEqual([]);
  });

  it('counts the running servers by their version', async () => {
    expect(await found('servers')).toMatchObject({ found: 'No server is running.' });
    await database.query(`insert into nodes (name, version, lease_until) values
      ('a', '1.2.3', now() + interval '1 hour'), ('b', '1.2.3', now() + interval '1 hour'),
      ('c', '1.3.0', now() + interval '1 hour'), ('gone', '1.2.3', now())`);
    expect(await found('servers')).toMatchObject({
      found: 'Running: 2 of version 1.2.3, 1 of version 1.3.0.',
    });
  });

  it('says that the database does not answer, without the password', async () => {
    const url = 'postgres://parley:secret@127.0.0.1:1/parley';
    const { stdout } = await parley(['doctor', '--json'], options(url));
    const checks: Found[] = JSON.parse(stdout).checks;
    expect(checks.find(({ area }) => area === 'database')).toMatchObject({
      state: 'problem',
      found: 'The database postgres://127.0.0.1:1/parley cannot be used (connect ECONNREFUSED 127.0.0.1:1).',
      advice: expect.stringContaining('`store.url`'),
    });
    expect(stdout).not.toContain('secret');
  });

  it('reports commits that are not durable, and another isolation', async () => {
    await database.query(`alter database ${databaseName()} set synchronous_commit = off`);
    await database.query(`alter database ${databaseName()} set default_transaction_isolation = serializable`);
    expect(await found('durability')).toMatchObject({
      state: 'problem',
      found: 'synchronous_commit is off: a crash loses answered requests and their debits.',
      advice: 'Set synchronous_commit = on.',
    });
    expect(await found('transactions')).toMatchObject({ state: 'warning' });
  });

  it('warns of settings that only some storages make safe', () => {
    const off = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'on' };
    expect(diagnoseDurability({ settings: off })).toMatchObject({
      state: 'warning',
      found: 'fsync and full_page_writes are off: a crash of the machine can destroy the database.',
      advice: expect.stringMatching(/^Set fsync = on and full_page_writes = on, unless .* Neon and Aurora/),
    });
    expect(diagnoseDurability({ settings: { ...off, synchronous_commit: 'off' } }).state).toBe('problem');
  });

  it('reports transactions that cannot write, as those of a standby', async () => {
    await database.query(`alter database ${databaseName()} set default_transaction_read_only = on`);
    expect(await found('transactions')).toMatchObject({
      state: 'problem',
      found: 'Transactions are read-only.',
      advice: expect.stringContaining('standby'),
    });
  });

  it('counts the connections that servers can have', async () => {
    await database.query(`alter database ${databaseName()} connection limit 25`);
    expect(await found('connections')).toMatchObject({
      state: 'ok',
      found:
        'The database accepts 25 connections: 2 servers with 11 each (one more than `store.connectionsMax`).',
    });
    expect(await found('connections', { connectionsMax: 20 })).toMatchObject({ state: 'warning' });
  });

  it('reports clocks that differ', async () => {
    const hourMs = 3_600_000;
    for (const offMs of [hourMs, -hourMs]) {
      const clocks = await found('clocks', { now: () => Date.now() + offMs });
      expect(clocks?.state).toBe('problem');
      expect(clocks?.found).toMatch(
        /^The clocks of the database and of this machine differ by (3600|3599)\d{3} ms\.$/,
      );
    }
  });

  it('distinguishes a newer schema from an older one', async () => {
    await database.query('delete from kysely_migration');
    await database.query("insert into kysely_migration values ('0023-labels', '')");
    expect(await found('schema')).toMatchObject({
      state: 'warning',
      found: `The schema lacks ${migrations.join(', ')}.`,
    });
    for (const name of [...migrations, '9-new']) {
      await database.query(`insert into kysely_migration values ('${name}', '')`);
    }
    expect((await found('schema'))?.state).toBe('ok');
    await database.query("insert into needed_migrations values ('9-new')");
    expect(await found('schema')).toMatchObject({
      state: 'problem',
      found: expect.stringContaining('(9-new)'),
    });
  });
});

describe.skipIf(missingPgbouncer !== undefined)(`a pooler${missingPgbouncer ?? ''}`, () => {
  it('is detected, and whether it keeps prepared statements', async () => {
    expect(await found('pooler')).toMatchObject({ found: 'There is none before the database.' });
    for (const [mode, expected] of [
      ['session', { state: 'ok', found: expect.stringContaining('It keeps prepared statements') }],
      [
        'transaction',
        {
          found: expect.stringMatching(/pooler before the database(\. It keeps| loses) prepared statements/),
        },
      ],
    ] as const) {
      const pooler = await startPgbouncer(database.url, mode);
      try {
        expect(await found('pooler', { url: pooler.url })).toMatchObject(expected);
      } finally {
        await pooler.close();
      }
    }
  });

  it('that loses prepared statements is reported by serve and by doctor', async () => {
    const pooler = await startPgbouncer(database.url, 'transaction');
    try {
      const finding = await found('pooler', { url: pooler.url });
      const server = await serve([], options(pooler.url));
      expect(server.stderr().includes('loses prepared statements')).toBe(finding?.state === 'problem');
      await server.close();
    } finally {
      await pooler.close();
    }
  });

  it('in transaction mode does not keep the lock of a migration', async () => {
    const pooler = await startPgbouncer(database.url, 'transaction');
    try {
      await database.query('drop schema public cascade');
      await database.query('create schema public');
      expect((await parley(['migrate'], options(pooler.url))).code).toBe(0);
      expect(await database.query("select from pg_locks where locktype = 'advisory'")).toEqual([]);
    } finally {
      await pooler.close();
    }
  });
});

describe('parley migrate', () => {
  it('creates the tables, and says so once', async () => {
    await database.query('drop schema public cascade');
    await database.query('create schema public');
    const dry = await parley(['migrate', '--dry-run'], options());
    expect(dry.stdout).toBe(migrations.map((name) => `Would apply ${name}.\n`).join(''));
    const migrated = await parley(['migrate', '--json'], options());
    expect(migrated.stderr).toMatch(/^applying 0024-initial, 1 of 1\n/);
    expect(JSON.parse(migrated.stdout)).toMatchObject({ migrations: [...migrations] });
    expect((await parley(['migrate'], options())).stdout).toBe('The schema is up to date.\n');
    expect(await found('schema')).toMatchObject({ state: 'ok' });
  });

  it('refuses a schema that is too new', async () => {
    await database.query("insert into kysely_migration values ('9-new', '')");
    await database.query("insert into needed_migrations values ('9-new')");
    for (const flags of [[], ['--dry-run']]) {
      const { code, stderr } = await parley(['migrate', ...flags], options());
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/^A newer Parley has changed the database parley_/),
      ]);
    }
  });

  it('says that the database cannot be used', async () => {
    const url = inject('postgresUrl').replace(/\/postgres\b/, '/no_such_database');
    const { code, stderr } = await parley(['migrate'], options(url));
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^The database .*"no_such_database" does not exist/),
    ]);
  });
});
