/** Fair use beside nodes of the previous version, which has a table for it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/core/entities/store.ts';
import { newAccountId, newKeyId, newRequestId } from '../../../src/core/values/ids.ts';
import { postgresMigrations } from '../../../src/store/migrations/migrations.ts';
import { openPool } from '../../../src/store/postgres/database/connection.ts';
import { toUuid } from '../../../src/store/postgres/database/ids.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { openPostgresStore } from '../../../src/store/postgres/open-store.ts';
import { readPostgresBooks } from '../../support/postgres/books.ts';
import { newDatabase, type TestDatabase } from '../../support/postgres/database.ts';
import { fairUse, outcomeOf } from '../../support/reservations.ts';
import { auditEntry, storedKey } from '../../support/stored-key.ts';
import { recordEnd, recordStart } from '../../support/usage-record.ts';

const accountId = newAccountId(1);
const keyId = newKeyId(1);
const account = `'${toUuid(accountId)}'`;
const earlier = Object.keys(postgresMigrations).filter((name) => name < '0011');

let database: TestDatabase;
let store: Store | undefined;
beforeEach(async () => {
  database = await newDatabase();
});
afterEach(async () => {
  await store?.close();
  store = undefined;
  await database.drop();
});

async function open(): Promise<Store> {
  store = await openPostgresStore({ url: database.url });
  return store;
}

const speech = { operation: 'speech', startedAtMs: Date.UTC(2026, 10, 5), characters: 3 } as const;
const startOf = () => recordStart({ accountId, keyId }, { ...speech, id: newRequestId(Date.now()) });
const taken = async () => (await store?.requests.taken([fairUse(accountId, 0, 0)]))?.[0];

describe('an upgrade', () => {
  it('keeps used and reserved units, and releases those of a dead node of the previous version', async () => {
    await database.query('drop schema public cascade');
    await database.query('create schema public');
    const pool = openPool({ url: database.url, connectionsMax: 1, name: 'test' });
    await migrate(pool, Object.fromEntries(earlier.map((name) => [name, postgresMigrations[name] as never])));
    await pool.end();
    await database.query(`insert into accounts (id, name, created_at_ms, balance_nano_credits, held_nano_credits)
      values (${account}, 'a', 1, 0, 0)`);
    await database.query(
      `insert into fair_use values (${account}, '2026-11', 7, 6), (${account}, '2026-10', 9, 0)`,
    );
    const { id } = startOf();
    await database.query(`insert into usage_records (id, account_id, key_id, operation, wire, state, started_at_ms,
        reserved_units, reserved_month, hold_nano_credits, node_epoch)
      values ('${toUuid(id)}', ${account}, '${toUuid(keyId)}', 'speech', 'rest', 'started', 1, 6, '2026-11', 0, 0)`);
    const next = await open();
    expect(await taken()).toBe(13n);
    await next.requests.recover(Date.now());
    expect(await taken()).toBe(7n);
    expect(
      await database.query('select used_units, reserved_units from fair_use order by month'),
    ).toMatchObject([
      { used_units: 9n, reserved_units: 0n },
      { used_units: 7n, reserved_units: 0n },
    ]);
  });
});

describe('nodes of two versions', () => {
  it('see the units of each other', async () => {
    const { accounts, keys, requests } = await open();
    await accounts.create({ id: accountId, name: 'a', createdAtMs: 1 }, auditEntry());
    await keys.create(storedKey(keyId, accountId), auditEntry());
    const other = () => database.query('select used_units, reserved_units from fair_use');
    await database.query(`insert into fair_use values (${account}, '2026-11', 10, 5)`);
    await database.query('update fair_use set reserved_units = reserved_units + 15');
    expect(await taken()).toBe(30n);
    const refused = await requests.reserve(startOf(), { counted: [fairUse(accountId, 11, 40)] });
    expect(outcomeOf(refused)).toBe('fair_use');
    const running = startOf();
    await requests.reserve(running, { counted: [fairUse(accountId, 10, 40)] });
    expect(await other()).toMatchObject([{ used_units: 10n, reserved_units: 30n }]);
    await requests.extend(running.id, [fairUse(accountId, 8, 40)]);
    expect(await other()).toMatchObject([{ used_units: 10n, reserved_units: 28n }]);
    await database.query('update fair_use set used_units = 12, reserved_units = reserved_units - 20');
    await requests.settle(running.id, recordEnd('ok', { audioMsOut: 1, fairUseUnits: 8 }));
    expect(await other()).toMatchObject([{ used_units: 20n, reserved_units: 0n }]);
    const { faults } = await readPostgresBooks(database);
    // The requests of the other version are not included.
    expect(faults.filter((fault) => !fault.startsWith('used units'))).toEqual([]);
  });
});
