/** Instead of the first round trip of a group: takes rows that this node knows, and lets the database check them. */

import type { Funds } from '../../../core/books/books.ts';
import type { AccountId } from '../../../core/values/ids.ts';
import { plainArray } from '../database/arrays.ts';
import { failUnless } from '../database/check.ts';
import { toUuid } from '../database/ids.ts';
import type { Transaction } from '../database/transaction.ts';
import { fence, ReadSet, type Wanted } from './read-set.ts';

const checkFence = `select ${failUnless('count(*) = 1')} from (${fence}) as fence`;
/** Locks accounts as `lock_accounts` does, and checks that they are as known. */
const lockKnown = `
  select ${failUnless('count(*) = cardinality($1::uuid[])')} from (
    select 1 from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[]) as known (id, balance, held, version)
    join accounts on accounts.id = known.id and balance_nano_credits = balance and held_nano_credits = held
      and policy_version = version
    order by accounts.id for no key update of accounts) as locked`;

/** Whether all rows of an operation, except the account, are known. */
export function isKnown({ counted, rated, entry, hasRecord, reserved }: Wanted): boolean {
  const isPlain = !counted?.length && !rated?.length && entry === undefined;
  return isPlain && (hasRecord !== true || reserved !== undefined);
}

/**
 * The rows for the decisions of operations, with known funds. The database locks their rows, and the transaction fails if they are no
 * longer right, or if this node was marked dead.
 */
export function assumedSet(
  transaction: Transaction,
  wanted: readonly Wanted[],
  {
    epoch,
    funds,
  }: { readonly epoch: bigint | undefined; readonly funds: ReadonlyMap<AccountId, Readonly<Funds>> },
): ReadSet {
  if (epoch !== undefined) transaction.query({ name: 'check_fence', text: checkFence, values: [epoch] });
  if (funds.size > 0) {
    const columns = [...funds.values()];
    const values = [
      plainArray([...funds.keys()].map(toUuid)),
      plainArray(columns.map(({ balance }) => balance)),
      plainArray(columns.map(({ held }) => held)),
      plainArray(columns.map(({ policyVersion }) => policyVersion)),
    ];
    transaction.query({ name: 'lock_known', text: lockKnown, values });
  }
  const rows = new ReadSet();
  rows.assume(funds, wanted);
  return rows;
}
