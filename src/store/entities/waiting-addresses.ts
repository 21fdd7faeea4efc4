import { sql } from 'kysely';
import type { AlertStore, MailCode, WaitingAddress } from '../../core/entities/alert.ts';
import type { AccountId } from '../../core/values/ids.ts';
import type { Executor } from '../sql/executor.ts';
import { hasChanged, type Step, step } from '../sql/job.ts';
import { optionalNumber, optionalText, type WaitingAddressRow } from '../sql/schema.ts';
import { query, statement } from '../sql/statement.ts';
import { textsOf } from '../sql/texts.ts';
import { change } from './audit.ts';
import { destinationText } from './destination-text.ts';

interface Own {
  readonly accountId: AccountId;
  readonly address: string;
}

const waitingOf = statement((p: { accountId: AccountId }) =>
  query.selectFrom('waiting_addresses').selectAll().where('account_id', '=', p.accountId).orderBy('address'),
).map(toWaiting);
/** The address whose latest code this is. */
const addressOfCode = statement((p: { accountId: AccountId; codeHash: string; nowMs: bigint }) =>
  query
    .selectFrom('waiting_addresses')
    .select('address')
    .where('account_id', '=', p.accountId)
    .where('code_hash', '=', p.codeHash)
    .where('expires_at_ms', '>', p.nowMs),
);

const add = statement((p: Own) =>
  query
    .insertInto('waiting_addresses')
    .values({ account_id: p.accountId, address: p.address })
    .onConflict((conflict) => conflict.doNothing()),
);
const removeOthers = statement((p: { accountId: AccountId; addresses: string }, dialect) =>
  query
    .deleteFrom('waiting_addresses')
    .where('account_id', '=', p.accountId)
    .where('address', 'not in', textsOf(dialect, p.addresses)),
);
/** Changes nothing if a code was sent a short time ago. */
const setCode = statement((p: Own & MailCode) =>
  query
    .updateTable('waiting_addresses')
    .set({ code_hash: p.codeHash, sent_at_ms: p.sentAtMs, expires_at_ms: p.expiresAtMs, last_failure: null })
    .where('account_id', '=', p.accountId)
    .where('address', '=', p.address)
    .where(({ or, eb }) =>
      or([eb('sent_at_ms', 'is', null), eb('sent_at_ms', '<=', sql<bigint>`${p.againAfterMs}`)]),
    ),
);
/** Changes nothing if another code is the latest. */
const replaceCode = statement((p: Own & WaitingAddress & { latestHash: string | null }) =>
  query
    .updateTable('waiting_addresses')
    .set({
      code_hash: p.codeHash,
      sent_at_ms: p.sentAtMs,
      expires_at_ms: p.expiresAtMs,
      last_failure: p.lastFailure,
    })
    .where('account_id', '=', p.accountId)
    .where('address', '=', p.address)
    .where('code_hash', 'is not distinct from', p.latestHash),
);
const use = statement((p: Own & { codeHash: string }) =>
  query
    .deleteFrom('waiting_addresses')
    .where('account_id', '=', p.accountId)
    .where('address', '=', p.address)
    .where('code_hash', '=', p.codeHash),
);
const noAddress = sql.lit(destinationText({ kind: 'mail', addresses: [] }));
/** Alerts that wait for the first address are due at once. */
const hurry = statement((p: { accountId: AccountId; nowMs: number }) =>
  query
    .updateTable('alerts')
    .set({ next_attempt_at_ms: p.nowMs })
    .where('account_id', '=', p.accountId)
    .where(sql<boolean>`state = 'pending'`)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('alert_settings')
          .select('account_id')
          .where('account_id', '=', p.accountId)
          .where('webhook_url', '=', noAddress),
      ),
    ),
);
const confirm = statement((p: Own, dialect) => {
  const address = dialect === 'postgres' ? sql`${p.address}::text` : sql`${p.address}`;
  return query
    .updateTable('alert_settings')
    .set({
      webhook_url: sql<string>`case webhook_url when ${noAddress} then webhook_url || ${address}
        else webhook_url || ',' || ${address} end`,
    })
    .where('account_id', '=', p.accountId)
    .where('webhook_url', 'like', sql.lit('mailto:%'));
});

/** Only these addresses wait from then on. */
export function replaceWaiting(accountId: AccountId, addresses: readonly string[]): readonly Step[] {
  return [
    step(removeOthers, { accountId, addresses: JSON.stringify(addresses) }),
    ...addresses.map((address) => step(add, { accountId, address })),
  ];
}

type ConfirmationStore = Pick<
  AlertStore,
  'waiting' | 'setCode' | 'replaceCode' | 'addressOfCode' | 'confirm'
>;

export function confirmationStore(executor: Executor): ConfirmationStore {
  const run = (only: Step) => executor.run({ steps: [only] });
  return {
    waiting: (accountId) => executor.all(waitingOf, { accountId }),

    setCode: async (accountId, address, code) =>
      hasChanged(await run(step(setCode, { accountId, address, ...code }))),

    async replaceCode(accountId, codeHash, by) {
      await run(step(replaceCode, { ...by, accountId, latestHash: codeHash ?? null }));
    },

    async addressOfCode(accountId, codeHash, nowMs) {
      const found = await executor.get(addressOfCode, { accountId, codeHash, nowMs: BigInt(nowMs) });
      return found?.address;
    },

    confirm: (accountId, address, codeHash, audit) =>
      change(executor, audit, [
        step(use, { accountId, address, codeHash }, 'stop'),
        step(hurry, { accountId, nowMs: audit.createdAtMs }),
        step(confirm, { accountId, address }),
      ]),
  };
}

function toWaiting(row: WaitingAddressRow): WaitingAddress {
  return {
    address: row.address,
    codeHash: optionalText(row.code_hash),
    sentAtMs: optionalNumber(row.sent_at_ms),
    expiresAtMs: optionalNumber(row.expires_at_ms),
    lastFailure: optionalText(row.last_failure),
  };
}
