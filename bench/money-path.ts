/**
 * The money path alone: find the key and its account, reserve, settle, record; 64 requests at once, every commit synced to
 * a disk. Once as the store does it, and once as Kysely's own transactions, two a request, on the same tables and with the
 * same pragmas; and the store on a database that has seen a million requests beside one that has seen none.
 *
 *   node bench/money-path.ts [folder, default that of temporary files; it must be on a disk]
 */
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KeyHolder } from '../src/core/ports/store.ts';
import { openStore } from '../src/store/sqlite-store.ts';
import { fillDatabase, openAccounts } from './money/accounts.ts';
import { kyselyPath } from './money/kysely-path.ts';
import type { MoneyPath } from './money/path.ts';
import { storePath } from './money/store-path.ts';

const concurrency = 64;
const sliceMs = 1_500;
const slices = 9;
const accounts = 10_000;
const records = 1_000_000;
const tmpfsType = 0x01021994;
