/** The settings of alerts, and the addresses of mail that wait for their confirmation. */
import { sql } from 'kysely';
import type {
  AlertStore,
  Destination,
  DueAlert,
  MailCode,
  StoredAlertSettings,
  WaitingAddress,
} from '../../core/entities/alert.ts';
import type { AccountId } from '../../core/values/ids.ts';
import { nanoCredits } from '../../core/values/money.ts';
import type { Executor } from '../sql/executor.ts';
import { hasChanged, type Step, step } from '../sql/job.ts';
import {
  type AlertSettingsRow,
  optionalNumber,
  optionalText,
  type WaitingAddressRow,
} from '../sql/schema.ts';
import { columnsOf, query, statement } from '../sql/statement.ts';
import { change } from './audit.ts';

interface OfAccount {
  readonly accountId: AccountId;
}

export const settingsOf = statement((p: OfAccount) =>
  query.selectFrom('alert_settings').selectAll().where('account_id', '=', p.accountId),
).map(toSettings);

type NewSettings = Omit<AlertSettingsRow, 'balance_below'> & { readonly balance_below: bigint | null };

/** The parameters with the names of columns. */
function columns(p: NewSettings) {
  return columnsOf(p, ['webhook_url', 'secret', 'percents', 'balance_below', 'webhook_off_at_ms']);
}

function insertSettings(p: NewSettings) {
  return query.insertInto('alert_settings').values({ ...columns(p), account_id: p.account_id });
}

const replace = statement((p: NewSettings) =>
  insertSettings(p).onConflict((conflict) => conflict.column('account_id').doUpdateSet(columns(p))),
);
/** Changes nothing if there are settings. */
const add = statement((p: NewSettings) => insertSettings(p).onConflict((conflict) => conflict.doNothing()));
/** Changes nothing if the destination or the secret is another. */
const replaceKnown = statement((p: NewSettings & Record<'knownDestination' | 'knownSecret', string | null>) =>
  query
    .updateTable('alert_settings')
    .set(columns(p))
    .where('account_id', '=', p.account_id)
    .where('webhook_url', 'is not distinct from', p.knownDestination)
    .where('secret', 'is not distinct from', p.knownSecret),
);
const remove = statement((p: OfAccount) =>
  query.deleteFrom('alert_settings').where('account_id', '=', p.accountId),
);
const turnOff = statement((p: OfAccount & { destination: string; secret: string | null; atMs: number }) =>
  query
    .updateTable('alert_settings')
    .set({ webhook_off_at_ms: p.atMs })
    .where('account_id', '=', p.accountId)
    .where('webhook_url', '=', p.destination)
    .where('secret', 'is not distinct from', p.secret)
    .where('webhook_off_at_ms', 'is', null),
);

/** @param before the settings that it replaces; if others are stored, it stops. Default: any */
export function replaceSettings(settings: StoredAlertSettings, before?: StoredAlertSettings | 'none'): Step {
  const parameters = parametersOf(settings);
  if (before === undefined) return step(replace, parameters);
  if (before === 'none') return step(add, parameters, 'stop');
  const { webhook_url: knownDestination, secret: knownSecret } = parametersOf(before);
  return step(replaceKnown, { ...parameters, knownDestination, knownSecret }, 'stop');
}

function parametersOf(settings: StoredAlertSettings): NewSettings {
  const { destination, offAtMs } = settings;
  return {
    account_id: settings.accountId,
    webhook_url: destination === undefined ? null : destinationText(destination),
    secret: settings.sealedSecret ?? null,
    percents: settings.percents.join(' '),
    balance_below: settings.balanceBelow ?? null,
    webhook_off_at_ms: offAtMs === undefined ? null : BigInt(offAtMs),
  };
}

export function removeSettings(accountId: AccountId): Step {
  return step(remove, { accountId });
}

/** Changes nothing if another destination was set meanwhile. */
export function turnDestinationOff({ alert, destination, sealedSecret }: DueAlert, atMs: number): Step {
  const { accountId } = alert;
  const was = { destination: destinationText(destination), secret: sealedSecret ?? null };
  return step(turnOff, { accountId, ...was, atMs }, 'stop');
}

export function toSettings(row: AlertSettingsRow): StoredAlertSettings {
  return {
    accountId: row.account_id as AccountId,
    destination: row.webhook_url === null ? undefined : destinationFrom(row.webhook_url),
    sealedSecret: optionalText(row.secret),
    percents: row.percents.split(' ').map(Number),
    balanceBelow: row.balance_below === null ? undefined : nanoCredits(row.balance_below),
    offAtMs: optionalNumber(row.webhook_off_at_ms),
  };
}

/**
 * The destination as one text: the URL of a webhook, else `mailto:`, `slack:` or `matrix:` and its address. Versions
 * that know only webhooks cannot open a connection to such a text, and leave the alert to others.
 */
function destinationText(destination: Destination): string {
  switch (destination.kind) {
    case 'webhook':
      return destination.url;
    case 'mail':
      return `mailto:${destination.addresses.join(',')}`;
    case 'slack':
      return `slack:${destination.origin}`;
    case 'matrix':
      return `matrix:${destination.homeserverUrl} ${destination.roomId}`;
  }
}

export function destinationFrom(text: string): Destination {
  const [scheme = ''] = text.split(':', 1);
  const address = text.slice(scheme.length + 1);
  const [homeserverUrl = '', roomId = ''] = address.split(' ');
  if (scheme === 'mailto') return { kind: 'mail', addresses: address === '' ? [] : address.split(',') };
  if (scheme === 'slack') return { kind: 'slack', origin: address };
  if (scheme === 'matrix') return { kind: 'matrix', homeserverUrl, roomId };
  return { kind: 'webhook', url: text };
}

interface OfAddress extends OfAccount {
  readonly address: string;
}

const waitingOf = statement((p: OfAccount) =>
  query.selectFrom('waiting_addresses').selectAll().where('account_id', '=', p.accountId).orderBy('address'),
).map(toWaiting);
/** The address whose latest code this is. */
const addressOfCode = statement((p: OfAccount & { codeHash: string; nowMs: bigint }) =>
  query
    .selectFrom('waiting_addresses')
    .select('address')
    .where('account_id', '=', p.accountId)
    .where('code_hash', '=', p.codeHash)
    .where('expires_at_ms', '>', p.nowMs),
);
const addWaiting = statement((p: OfAddress) =>
  query
    .insertInto('waiting_addresses')
    .values({ account_id: p.accountId, address: p.address })
    .onConflict((conflict) => conflict.doNothing()),
);
const removeOthers = statement((p: OfAccount & { addresses: string }, dialect) =>
  query
    .deleteFrom('waiting_addresses')
    .where('account_id', '=', p.accountId)
    .where('address', 'not in', dialect.textsOf(p.addresses)),
);

function setWaiting(p: OfAddress & Omit<WaitingAddress, 'lastFailure'>, failure: string | null | undefined) {
  return query
    .updateTable('waiting_addresses')
    .set({
      code_hash: p.codeHash,
      sent_at_ms: p.sentAtMs,
      expires_at_ms: p.expiresAtMs,
      last_failure: failure,
    })
    .where('account_id', '=', p.accountId)
    .where('address', '=', p.address);
}

/** Changes nothing if a code was sent a short time ago. */
const setCode = statement((p: OfAddress & MailCode) =>
  setWaiting(p, null).where(({ or, eb }) =>
    or([eb('sent_at_ms', 'is', null), eb('sent_at_ms', '<=', sql<bigint>`${p.againAfterMs}`)]),
  ),
);
/** Changes nothing if another code is the latest. */
const replaceCode = statement((p: OfAddress & WaitingAddress & { latestHash: string | null }) =>
  setWaiting(p, p.lastFailure).where('code_hash', 'is not distinct from', p.latestHash),
);
const use = statement((p: OfAddress & { codeHash: string }) =>
  query
    .deleteFrom('waiting_addresses')
    .where('account_id', '=', p.accountId)
    .where('address', '=', p.address)
    .where('code_hash', '=', p.codeHash),
);
const noAddress = sql.lit('mailto:');
/** Alerts that wait for the first address are due at once. */
const hurry = statement((p: OfAccount & { nowMs: number }) =>
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
const confirm = statement((p: OfAddress) => {
  const address = sql`cast(${p.address} as text)`;
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
    ...addresses.map((address) => step(addWaiting, { accountId, address })),
  ];
}

export function confirmationStore(executor: Executor) {
  return {
    waiting: (accountId) => executor.all(waitingOf, { accountId }),

    setCode: async (accountId, address, code) =>
      hasChanged(await executor.run({ steps: [step(setCode, { accountId, address, ...code })] })),

    async replaceCode(accountId, codeHash, by) {
      await executor.run({ steps: [step(replaceCode, { ...by, accountId, latestHash: codeHash ?? null })] });
    },

    addressOfCode: async (accountId, codeHash, nowMs) =>
      (await executor.get(addressOfCode, { accountId, codeHash, nowMs: BigInt(nowMs) }))?.address,

    confirm: (accountId, address, codeHash, audit) =>
      change(executor, audit, [
        step(use, { accountId, address, codeHash }, 'stop'),
        step(hurry, { accountId, nowMs: audit.createdAtMs }),
        step(confirm, { accountId, address }),
      ]),
  } satisfies Partial<AlertStore>;
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
