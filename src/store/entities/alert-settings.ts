import type { DueAlert, StoredAlertSettings } from '../../core/entities/alert.ts';
import type { AccountId } from '../../core/values/ids.ts';
import { nanoCredits } from '../../core/values/money.ts';
import { type Step, step } from '../sql/job.ts';
import { type AlertSettingsRow, optionalNumber, optionalText } from '../sql/schema.ts';
import { query, statement } from '../sql/statement.ts';
import { destinationFrom, destinationText } from './destination-text.ts';

export const settingsOf = statement((p: { accountId: AccountId }) =>
  query.selectFrom('alert_settings').selectAll().where('account_id', '=', p.accountId),
).map(toSettings);

type SettingsParameters = Omit<AlertSettingsRow, 'balance_below'> & { balance_below: bigint | null };

interface KnownDestination {
  readonly knownDestination: string | null;
  readonly knownSecret: string | null;
}

const replace = statement((p: SettingsParameters) =>
  query
    .insertInto('alert_settings')
    .values({ ...columns(p), account_id: p.account_id })
    .onConflict((conflict) => conflict.column('account_id').doUpdateSet(columns(p))),
);
/** Changes nothing if there are settings. */
const add = statement((p: SettingsParameters) =>
  query
    .insertInto('alert_settings')
    .values({ ...columns(p), account_id: p.account_id })
    .onConflict((conflict) => conflict.doNothing()),
);
/** Changes nothing if the destination or the secret is another. */
const replaceKnown = statement((p: SettingsParameters & KnownDestination) =>
  query
    .updateTable('alert_settings')
    .set(columns(p))
    .where('account_id', '=', p.account_id)
    .where('webhook_url', 'is not distinct from', p.knownDestination)
    .where('secret', 'is not distinct from', p.knownSecret),
);
const remove = statement((p: { accountId: AccountId }) =>
  query.deleteFrom('alert_settings').where('account_id', '=', p.accountId),
);
const turnOff = statement(
  (p: { accountId: AccountId; destination: string; secret: string | null; atMs: number }) =>
    query
      .updateTable('alert_settings')
      .set({ webhook_off_at_ms: p.atMs })
      .where('account_id', '=', p.accountId)
      .where('webhook_url', '=', p.destination)
      .where('secret', p.secret === null ? 'is' : '=', p.secret)
      .where('webhook_off_at_ms', 'is', null),
);

function columns(row: Omit<AlertSettingsRow, 'account_id'>) {
  return {
    webhook_url: row.webhook_url,
    secret: row.secret,
    percents: row.percents,
    balance_below: row.balance_below,
    webhook_off_at_ms: row.webhook_off_at_ms,
  };
}

/** @param before the settings that it replaces; if others are stored, it stops. Default: any */
export function replaceSettings(settings: StoredAlertSettings, before?: StoredAlertSettings | 'none'): Step {
  const parameters = parametersOf(settings);
  if (before === undefined) return step(replace, parameters);
  if (before === 'none') return step(add, parameters, 'stop');
  const { webhook_url: knownDestination, secret: knownSecret } = parametersOf(before);
  return step(replaceKnown, { ...parameters, knownDestination, knownSecret }, 'stop');
}

function parametersOf(settings: StoredAlertSettings): SettingsParameters {
  return {
    account_id: settings.accountId,
    webhook_url: settings.destination === undefined ? null : destinationText(settings.destination),
    secret: settings.sealedSecret ?? null,
    percents: settings.percents.join(' '),
    balance_below: settings.balanceBelow ?? null,
    webhook_off_at_ms: settings.offAtMs === undefined ? null : BigInt(settings.offAtMs),
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
