/** The last guards of money: constraints of the tables, and conditions in the writes themselves. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import { cliCall } from '../../../src/core/access/call.ts';
import { tooMuchTaken } from '../../../src/core/accounts/checks.ts';
import { nanoCredits } from '../../../src/core/values/money.ts';
import type { Connection } from '../../../src/store/sqlite/database/connection.ts';
import { openDatabase } from '../../../src/store/sqlite/database/open-database.ts';
import { readBooks } from '../../support/books.ts';
import { withFakes } from '../../support/fake-engines.ts';
import { type Parley, startParley } from '../../support/parley.ts';

describe('the tables', () => {
  let dataDir: string;
  let books: Connection;
  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'parley-guards-'));
    books = await openDatabase(dataDir);
    books.exec(`
      insert into accounts (id, name, created_at_ms, balance_nano_credits, held_nano_credits) values ('a', 'a', 1, 5, 3);
      insert into limit_counts (owner, unit, period, used) values ('a', 'fair_use', '2026-11', 1);`);
    enter('one', 'load', 'first');
    enter('two', 'debit', 'req_1');
  });
  afterEach(() => {
    books.close();
    rmSync(dataDir, { recursive: true });
  });
  const enter = (id: string, kind: string, reference: string, account = 'a') =>
    books
      .prepare(`insert into ledger_entries (id, account_id, kind, amount_nano_credits, reason, reference, created_at_ms)
        values (?, ?, ?, 1, 'test', ?, 1)`)
      .run(`led_${Buffer.from(id).toString('hex').padEnd(32, '0')}`, account, kind, reference);

  it('keep the holds between zero and the balance', () => {
    expect(() => books.exec('update accounts set held_nano_credits = 6')).toThrow('CHECK');
    expect(() => books.exec('update accounts set held_nano_credits = -1')).toThrow('CHECK');
    expect(() => books.exec('update accounts set balance_nano_credits = 2')).toThrow('CHECK');
  });

  it('report the available credits to a request for more', () => {
    const nano = (credits: number) => nanoCredits(BigInt(credits * 1e9));
    const { message } = tooMuchTaken({ balance: nano(4), held: nano(1.5) });
    expect(message).toBe(
      'The balance is 4 credits, of which running requests hold 1.5: no more than 2.5 can be taken.',
    );
  });

  it('keep counts at or above zero', () => {
    expect(() => books.exec('update limit_counts set used = -1')).toThrow('CHECK');
  });

  it('accept a load or adjustment once per reference, and a debit once per request', () => {
    expect(() => enter('three', 'load', 'first')).toThrow('UNIQUE');
    expect(() => enter('three', 'adjustment', 'first')).toThrow('UNIQUE');
    expect(() => enter('two', 'debit', 'req_1')).toThrow('UNIQUE');
    enter('three', 'load', 'second');
  });

  it('require the account of an entry', () => {
    expect(() => enter('three', 'load', 'second', 'nobody')).toThrow('NOT NULL');
  });
});

describe('entering credits', () => {
  let parley: Parley;
  beforeEach(async () => {
    parley = await startParley({ engines: withFakes({}) });
  });
  afterEach(() => parley.close());

  const entry = (amount: string, idempotencyKey: string) => ({
    accountId: parley.accountId,
    reason: 'test',
    amount,
    idempotencyKey,
  });
  const load = (amount: string, idempotencyKey: string) =>
    parley.app.services.accounts.loadCredits(
      create(pb.LoadCreditsRequestSchema, entry(amount, idempotencyKey)),
      cliCall,
    );
  const adjust = (amount: string, idempotencyKey: string) =>
    parley.app.services.accounts.adjustCredits(
      create(pb.AdjustCreditsRequestSchema, entry(amount, idempotencyKey)),
      cliCall,
    );
  const balance = () => readBooks(parley.dataDir).accounts[0]?.balance;

  it('happens once per idempotency key, also for concurrent requests', async () => {
    await Promise.all(Array.from({ length: 200 }, () => load('5', 'once')));
    expect(balance()).toBe(15_000_000_000n);
    expect(readBooks(parley.dataDir).faults).toEqual([]);
  });

  it('takes no more than the available credits, also for concurrent requests', async () => {
    const taken = await Promise.allSettled(Array.from({ length: 200 }, (_, n) => adjust('-1', `take ${n}`)));
    expect(taken.filter(({ status }) => status === 'fulfilled').length).toBe(10);
    expect(balance()).toBe(0n);
    expect(readBooks(parley.dataDir).faults).toEqual([]);
  });

  it('refuses a balance beyond the range of an amount', async () => {
    await expect(load('9223372036.854775807', 'huge')).rejects.toMatchObject({
      code: 'invalid_parameter',
      param: 'amount',
    });
    expect(balance()).toBe(10_000_000_000n);
    await load('9223372026.854775807', 'all that fits');
    await adjust('-9223372036.854775807', 'all of it');
    expect(balance()).toBe(0n);
  });
});
