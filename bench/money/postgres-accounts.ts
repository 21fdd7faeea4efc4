/** Accounts in a database on PostgreSQL, and the check of its books. */
import type { Client } from 'pg';
import { hashKey } from '../../src/core/values/key-secret.ts';
import { bookFaults } from '../../src/store/maintenance/books.ts';
import { newClient } from '../../src/store/postgres/database/connection.ts';
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';

/** More than any run spends. */
const loadNanoCredits = 1_000_000_000_000_000n;

export async function withClient<T>(url: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = newClient({ url, name: 'bench' });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** The hash of the n-th account's key. */
export const keyHashOf = (n: number): string => hashKey(`key-${n}`);

/** Creates the tables, and accounts with credits and a key each. */
export async function openPostgresAccounts(url: string, count: number): Promise<void> {
  const store = await openPostgresStore({ url });
  await store.close();
  const hashes = Array.from({ length: count }, (_, n) => keyHashOf(n));
  await withClient(url, async (client) => {
    const of = `(select md5(hash)::uuid as id, hash from unnest($1::text[]) as hash) as account`;
    const insert = (text: string) => client.query(text, [hashes]);
    await insert(`insert into accounts (id, name, created_at_ms, balance_nano_credits, held_nano_credits)
      select id, hash, 0, ${loadNanoCredits}, 0 from ${of}`);
    await insert(`insert into ledger_entries
      (account_id, id, amount_nano_credits, created_at_ms, kind, reason, reference)
      select id, id, ${loadNanoCredits}, 0, 'load', 'bench', 'bench' from ${of}`);
    await insert(`insert into api_keys (id, account_id, kind, name, hash, last_four, scopes, created_at_ms)
      select id, id, 'account', 'bench', hash, 'abcd', 'chat', 0 from ${of}`);
    await client.query('vacuum analyze');
  });
}

/** Throws where a balance does not match its entries, or credits are still held. */
export async function checkPostgresBooks(url: string): Promise<void> {
  await withClient(url, async (client) => {
    const find = async (sql: string) => (await client.query(sql)).rows[0]?.id as string | undefined;
    const faults = await bookFaults('postgres', find);
    const holder = await find('select id from accounts where held_nano_credits > 0');
    if (holder !== undefined) faults.push(`The account ${holder} holds credits, though all requests ended.`);
    if (faults.length > 0) throw new Error(faults.join(' '));
  });
}

/** Creates an empty database on the server. @param url of another database there */
export async function createDatabase(url: string, name: string): Promise<string> {
  await withClient(url, (client) => client.query(`create database ${name}`));
  return url.replace(/\/postgres\?/, `/${name}?`);
}
