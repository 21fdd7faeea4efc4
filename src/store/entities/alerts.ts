/** Alerts: their settings, the addresses of mail that wait for a confirmation, what they watch, and those that were raised. */
import { setImmediate as turn } from 'node:timers/promises';
import { sql } from 'kysely';
import {
  type Alert,
  type AlertDetails,
  type AlertKind,
  type AlertMark,
  type AlertStore,
  alertsKept,
  type DeliveryState,
  type Destination,
  type NewAlertSettings,
  type StoredAlertSettings,
  type WaitingAddress,
  type WatchedAccount,
  type WatchMoment,
} from '../../core/entities/alert.ts';
import { type Count, periodOf } from '../../core/entities/count.ts';
import { budgetNames, limitsFromText } from '../../core/entities/limits.ts';
import type { AccountId, AlertId, KeyId } from '../../core/values/ids.ts';
import { nanoCredits } from '../../core/values/money.ts';
import type { PageRequest } from '../../core/values/parameters.ts';
import { type Executor, pageOf, type Queries } from '../sql/executor.ts';
import { hasChanged, type Step, step } from '../sql/job.ts';
import {
  type AlertMarkRow,
  type AlertRow,
  type AlertSettingsRow,
  afterAll,
  optionalNumber,
  optionalText,
  type WaitingAddressRow,
} from '../sql/schema.ts';
import { query, statement } from '../sql/statement.ts';
import { toAccount, withPeriods } from './account-rows.ts';
import { change } from './audit.ts';

interface OfAccount {
  readonly accountId: AccountId;
}

interface OfAddress extends OfAccount {
  readonly address: string;
}

/** The destination and the secret on which a change was decided. */
interface Known extends OfAccount {
  readonly knownDestination: string | null;
  readonly knownSecret: string | null;
}

const settingsOf = statement((p: OfAccount) =>
  query.selectFrom('alert_settings').selectAll().where('account_id', '=', p.accountId),
).map(toSettings);
const waitingOf = statement((p: OfAccount) =>
  query.selectFrom('waiting_addresses').selectAll().where('account_id', '=', p.accountId).orderBy('address'),
).map(toWaiting);
const remove = statement((p: OfAccount) =>
  query.deleteFrom('alert_settings').where('account_id', '=', p.accountId),
);
/** Makes settings to replace. Changes nothing if there are any. */
const add = statement(
  (p: OfAccount) => sql`insert into alert_settings (account_id, percents) values (${p.accountId}, '')
    on conflict do nothing`,
);
const replace = statement(
  (p: Known & Omit<AlertSettingsRow, 'account_id' | 'webhook_off_at_ms'>) => sql`update alert_settings
    set webhook_url = ${p.webhook_url}, secret = ${p.secret}, percents = ${p.percents},
      balance_below = ${p.balance_below}, webhook_off_at_ms = null ${ofKnown(p)}`,
);
const turnOff = statement(
  (p: Known & { atMs: number }) => sql`update alert_settings set webhook_off_at_ms = ${p.atMs} ${ofKnown(p)}`,
);

/** Selects nothing if the destination or the secret is another. */
function ofKnown(p: Known) {
  return sql`where account_id = ${p.accountId} and webhook_url is not distinct from ${p.knownDestination}
    and secret is not distinct from ${p.knownSecret}`;
}

function secretColumns({ destination, sealedSecret }: Partial<NewAlertSettings>) {
  return { webhook_url: destination ? destinationText(destination) : null, secret: sealedSecret ?? null };
}

function known(accountId: AccountId, settings: Partial<NewAlertSettings> = {}): Known {
  const { webhook_url: knownDestination, secret: knownSecret } = secretColumns(settings);
  return { accountId, knownDestination, knownSecret };
}

function toSettings(row: AlertSettingsRow): Omit<StoredAlertSettings, 'waiting'> {
  return {
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
  if (destination.kind === 'mail') return `mailto:${destination.addresses.join(',')}`;
  const { kind, url, roomId } = destination;
  return kind === 'webhook' ? url : `${kind}:${url}${roomId === undefined ? '' : ` ${roomId}`}`;
}

function destinationFrom(text: string): Destination {
  const [scheme = ''] = text.split(':', 1);
  const address = text.slice(scheme.length + 1);
  const [url = '', roomId = ''] = address.split(' ');
  if (scheme === 'mailto') return { kind: 'mail', addresses: address === '' ? [] : address.split(',') };
  if (scheme === 'slack') return { kind: 'slack', url };
  return scheme === 'matrix' ? { kind: 'matrix', url, roomId } : { kind: 'webhook', url: text };
}

const addWaiting = statement(
  (
    p: OfAddress,
  ) => sql`insert into waiting_addresses (account_id, address) values (${p.accountId}, ${p.address})
    on conflict do nothing`,
);
const removeOthers = statement(
  (p: OfAccount & { addresses: string }, dialect) => sql`delete from waiting_addresses
    where account_id = ${p.accountId} and address not in ${dialect.textsOf(p.addresses)}`,
);
const setCode = statement(
  (p: OfAccount & WaitingAddress & { latestHash: string | undefined }) => sql`update waiting_addresses
    set code_hash = ${p.codeHash}, sent_at_ms = ${p.sentAtMs}, expires_at_ms = ${p.expiresAtMs},
      last_failure = ${p.lastFailure}
    where account_id = ${p.accountId} and address = ${p.address}
      and code_hash is not distinct from ${p.latestHash}`,
);
/** On PostgreSQL, locks the settings first, as a change of them does: else one waits for the other in a circle. */
const use = statement(
  (p: OfAddress & { codeHash: string }, { forUpdate }) => sql`delete from waiting_addresses
    where account_id = (select account_id from alert_settings where account_id = ${p.accountId} ${forUpdate})
      and address = ${p.address} and code_hash = ${p.codeHash}`,
);
/** Alerts that wait for the first address are due at once. */
const hurry = statement(
  (p: OfAccount & { nowMs: number }) => sql`update alerts set next_attempt_at_ms = ${p.nowMs}
    where account_id = ${p.accountId} and state = 'pending' and exists (select 1 from alert_settings
      where account_id = ${p.accountId} and webhook_url = 'mailto:')`,
);
const confirm = statement(
  (p: OfAddress) => sql`update alert_settings
    set webhook_url = webhook_url || case webhook_url when 'mailto:' then '' else ',' end || ${text(p.address)}
    where account_id = ${p.accountId} and webhook_url like 'mailto:%'`,
);

function toWaiting(row: WaitingAddressRow): WaitingAddress {
  return {
    address: row.address,
    codeHash: optionalText(row.code_hash),
    sentAtMs: optionalNumber(row.sent_at_ms),
    expiresAtMs: optionalNumber(row.expires_at_ms),
    lastFailure: optionalText(row.last_failure),
  };
}

/** The accounts of a page: their ids are above `after`, up to `last`. */
interface Span {
  readonly after: string;
  readonly last: string;
}
/** Owners whose counts one query reads. */
const ownersAtOnce = 150;

const watchedAccounts = statement((p: { after: string; size: number; month: string }, dialect) =>
  withPeriods()
    .innerJoin('alert_settings', 'alert_settings.account_id', 'accounts.id')
    .selectAll('alert_settings')
    .select([
      sql<bigint | null>`(select used from limit_counts where owner = ${dialect.ownerOfAccount}
        and unit = 'fair_use' and period = ${p.month})`.as('units'),
      sql<string | null>`(select ${dialect.entryId} from ${dialect.otherEntries}
        and balance_nano_credits < balance_below and amount_nano_credits > 0
        order by created_at_ms desc, id desc limit 1)`.as('latest_load'),
    ])
    // Starts from the settings, as many accounts may have none.
    .where('alert_settings.account_id', '>', p.after)
    .where('suspended_at_ms', 'is', null)
    .where('deleted_at_ms', 'is', null)
    .orderBy('alert_settings.account_id')
    .limit(p.size),
);
/** A cross join keeps its order in SQLite, which matters as accounts without settings may have many keys. */
const limitedKeys = statement(
  (p: Span & { readonly nowMs: bigint }) => sql<
    Record<'key_id' | 'account_id' | 'origin_id' | 'limits', string>
  >`
    select api_keys.id as key_id, api_keys.account_id, origin_id, limits
    from alert_settings cross join api_keys
    where api_keys.account_id = alert_settings.account_id
      and alert_settings.account_id > ${p.after} and alert_settings.account_id <= ${p.last}
      and limits <> '' and revoked_at_ms is null and (expires_at_ms is null or expires_at_ms > ${p.nowMs})
    order by api_keys.id`,
);
const marks = statement((p: Span) =>
  query
    .selectFrom('alert_marks')
    .selectAll()
    .where('account_id', '>', p.after)
    .where('account_id', '<=', p.last),
);
const usedCredits = statement(
  (p: { owners: string; periods: string }, { textsOf }) => sql<
    Pick<Count, 'owner' | 'period'> & { used: bigint }
  >`
    select owner, period, used from limit_counts
    where owner in ${textsOf(p.owners)} and unit = 'credits' and period in ${textsOf(p.periods)}`,
);

async function readWatchedAccounts(
  queries: Queries,
  { nowMs, accessNowMs }: WatchMoment,
  { after = '', size }: PageRequest,
): Promise<readonly WatchedAccount[]> {
  const rows = await queries.all(watchedAccounts, { after, size, month: periodOf('month', nowMs) });
  const last = rows.at(-1)?.id;
  if (last === undefined) return [];
  const limited = await queries.all(limitedKeys, { after, last, nowMs: BigInt(accessNowMs) });
  const keysOf = Map.groupBy(limited, (key) => key.account_id);
  const marksOf = Map.groupBy(await queries.all(marks, { after, last }), (mark) => mark.account_id);
  const accounts = rows.map((row) => ({
    account: toAccount(row),
    settings: toSettings(row),
    unitsUsed: row.units ?? 0n,
    latestLoad: row.latest_load ?? '',
    keys: (keysOf.get(row.id) ?? []).map(toWatchedKey),
    marks: (marksOf.get(row.id) ?? []).map(toMark),
  }));
  const owners = accounts.flatMap(({ account, keys }) => [account.id, ...keys.map((key) => key.originId)]);
  const used = await readUsedCredits(queries, [...new Set<string>(owners)], nowMs);
  return accounts.map((account) => ({ ...account, usedCredits: used }));
}

async function readUsedCredits(queries: Queries, owners: readonly string[], nowMs: number) {
  const periods = JSON.stringify(budgetNames.map((name) => periodOf(name, nowMs)));
  const used = new Map<string, bigint>();
  for (let at = 0; at < owners.length; at += ownersAtOnce) {
    const some = JSON.stringify(owners.slice(at, at + ownersAtOnce));
    for (const row of await queries.all(usedCredits, { owners: some, periods }))
      used.set(`${row.owner} ${row.period}`, row.used);
    // SQLite reads synchronously, so other requests run between pages.
    await turn();
  }
  return (owner: string, period: string) => used.get(`${owner} ${period}`) ?? 0n;
}

function toWatchedKey(row: { key_id: string; origin_id: string; limits: string }) {
  const id = row.key_id as KeyId;
  return { id, originId: (row.origin_id as KeyId) || id, limits: limitsFromText(row.limits) };
}

function toMark({ kind, subject, period, basis, threshold }: AlertMarkRow): AlertMark {
  return { kind: kind as AlertKind, subject, period, basis, threshold: Number(threshold) };
}

/** The mark that the caller has read has `readBasis` and `readThreshold`. */
type MovedMark = AlertMark & OfAccount & { readBasis: string | undefined; readThreshold: number | undefined };

/**
 * Changes nothing if the mark is already there or further on, if another node has moved it in this period, or if the
 * account no longer has settings. On PostgreSQL a concurrent change of the settings waits.
 */
const moveMark = statement(
  (p: MovedMark, { forShare }) => sql<object>`
    insert into alert_marks (account_id, kind, subject, period, basis, threshold)
    select account_id, ${text(p.kind)}, ${text(p.subject)}, ${text(p.period)},
      ${text(p.basis)}, ${whole(p.threshold)}
    from alert_settings where account_id = ${p.accountId} ${forShare}
    on conflict (account_id, kind, subject) do update
    set period = excluded.period, basis = excluded.basis, threshold = excluded.threshold
    where excluded.period > alert_marks.period or (excluded.period = alert_marks.period
      and alert_marks.basis = ${text(p.readBasis)}
      and alert_marks.threshold = ${whole(p.readThreshold)}
      and (excluded.basis <> alert_marks.basis or excluded.threshold > alert_marks.threshold))`,
);

/** PostgreSQL needs the types of selected parameters. */
const text = (value: string | undefined) => sql`cast(${value} as text)`;
const whole = (value: number | undefined) => sql`cast(${value} as bigint)`;

/** Pending if there is a destination now: the caller may have read older settings. */
const insert = statement((p: Omit<Alert, 'details'> & { readonly details: string }) => {
  const source = sql`from alert_settings where account_id = ${p.accountId}
    and webhook_url is not null and webhook_off_at_ms is null`;
  return sql`insert into alerts (id, account_id, kind, created_at_ms, details, state, attempts, next_attempt_at_ms)
    values (${p.id}, ${p.accountId}, ${p.kind}, ${p.createdAtMs}, ${p.details},
      coalesce((select 'pending' ${source}), 'none'), ${p.attempts}, (select ${whole(p.nextAttemptAtMs)} ${source}))`;
});

const removeOld = statement(
  (p: OfAccount) => sql`delete from alerts where account_id = ${p.accountId} and id <= (
    select id from alerts as kept where account_id = ${p.accountId} order by id desc limit 1 offset ${sql.lit(alertsKept)})`,
);
const alertsBefore = statement((p: OfAccount & { after: string; size: number }) =>
  query
    .selectFrom('alerts')
    .selectAll()
    .where('account_id', '=', p.accountId)
    .where('id', '<', p.after)
    .orderBy('id', 'desc')
    .limit(p.size),
).map(toAlert);
const dueAlerts = statement((p: { nowMs: bigint; size: number }) =>
  query
    .selectFrom('alerts')
    .innerJoin('alert_settings', 'alert_settings.account_id', 'alerts.account_id')
    .innerJoin('accounts', 'accounts.id', 'alerts.account_id')
    .selectAll('alerts')
    .select(['webhook_url', 'secret', 'accounts.name as account_name'])
    .where(sql<boolean>`alerts.state = 'pending' and alerts.next_attempt_at_ms <= ${p.nowMs}
      and webhook_url is not null and webhook_off_at_ms is null
      and suspended_at_ms is null and deleted_at_ms is null
      and not exists (select 1 from alerts as other where other.account_id = alerts.account_id
        and other.state = 'pending' and other.next_attempt_at_ms <= ${p.nowMs} and other.id < alerts.id)`)
    .orderBy('alerts.next_attempt_at_ms')
    .limit(p.size),
).map((row) => ({
  alert: toAlert(row),
  accountName: row.account_name,
  destination: destinationFrom(row.webhook_url ?? ''),
  sealedSecret: optionalText(row.secret),
}));
/** Changes nothing if another node was first. */
const claim = statement(
  (p: { id: AlertId; dueAtMs: bigint; nextAttemptAtMs: number }) => sql`update alerts
    set next_attempt_at_ms = ${p.nextAttemptAtMs}, attempts = attempts + 1
    where id = ${p.id} and next_attempt_at_ms = ${p.dueAtMs}`,
);
/** An alert that is no longer pending changes only if it was delivered. */
const endAttempt = statement(
  (p: { id: AlertId; state: string; failure?: string; atMs?: number }) => sql`update alerts
    set state = ${p.state}, next_attempt_at_ms = case ${text(p.state)} when 'pending' then next_attempt_at_ms end,
      delivered_at_ms = ${p.atMs}, last_failure = coalesce(${p.failure}, last_failure)
    where id = ${p.id} and (state = 'pending' or ${text(p.state)} = 'delivered')`,
);
/** Alerts that are due before this time. */
const delayAll = statement(
  (p: OfAccount & { nextAtMs: number }) => sql`update alerts set next_attempt_at_ms = ${p.nextAtMs}
    where account_id = ${p.accountId} and state = 'pending' and next_attempt_at_ms < ${p.nextAtMs}`,
);
const giveUpAll = statement(
  (p: OfAccount & { failure: string }) => sql`update alerts
    set state = 'failed', next_attempt_at_ms = null, last_failure = ${p.failure}
    where account_id = ${p.accountId} and state = 'pending'`,
);

export function alertStore(executor: Executor): AlertStore {
  const run = (...steps: readonly Step[]) => executor.run({ steps });
  return {
    async settings(accountId) {
      // Read first: an address that is confirmed meanwhile is in the settings.
      const waiting = await executor.all(waitingOf, { accountId });
      const settings = await executor.get(settingsOf, { accountId });
      return settings && { ...settings, waiting };
    },

    async setSettings(accountId, settings, audit, waiting, before) {
      const failure = 'The destination was removed.';
      const isSet = await change(executor, audit, [
        ...(settings ? setting(accountId, settings, before) : [step(remove, { accountId })]),
        step(removeOthers, { accountId, addresses: JSON.stringify(waiting) }),
        ...waiting.map((address) => step(addWaiting, { accountId, address })),
        ...(settings?.destination ? [] : [step(giveUpAll, { accountId, failure })]),
      ]);
      return isSet || settings === undefined;
    },

    setCode: async (accountId, latestHash, by) =>
      hasChanged(await run(step(setCode, { ...by, accountId, latestHash }))),

    confirm: (accountId, address, codeHash, audit) =>
      change(executor, audit, [
        step(use, { accountId, address, codeHash }, 'stop'),
        step(hurry, { accountId, nowMs: audit.createdAtMs }),
        step(confirm, { accountId, address }),
      ]),

    watched: (moment, page) => readWatchedAccounts(executor, moment, page),

    async raise(alert, mark, read) {
      const { accountId } = alert;
      const moved = { accountId, ...mark, readBasis: read?.basis, readThreshold: read?.threshold };
      const raised = await run(
        step(moveMark, moved, 'stop'),
        step(insert, { ...alert, details: JSON.stringify(alert.details) }),
        step(removeOld, { accountId }),
      );
      return hasChanged(raised);
    },

    list: (accountId, page) =>
      pageOf(page, ({ size, after = afterAll }) => executor.all(alertsBefore, { accountId, after, size })),

    due: (nowMs, size) => executor.all(dueAlerts, { nowMs: BigInt(nowMs), size }),

    claim: async ({ id, nextAttemptAtMs: dueAtMs = 0 }, nextAttemptAtMs) =>
      hasChanged(await run(step(claim, { id, dueAtMs: BigInt(dueAtMs), nextAttemptAtMs }))),

    async endAttempt({ id, accountId }, end) {
      const delayed =
        end.state === 'delivered' ? [] : [step(delayAll, { accountId, nextAtMs: end.nextAtMs })];
      await run(step(endAttempt, { id, ...end }), ...delayed);
    },

    async turnOff({ alert: { accountId }, ...settings }, atMs, failure) {
      await run(
        step(turnOff, { ...known(accountId, settings), atMs }, 'stop'),
        step(giveUpAll, { accountId, failure }),
      );
    },
  };
}

/** Stops if other settings than those before are stored. */
function setting(accountId: AccountId, settings: NewAlertSettings, before?: NewAlertSettings): Step[] {
  const { percents, balanceBelow = null } = settings;
  const columns = { ...secretColumns(settings), percents: percents.join(' '), balance_below: balanceBelow };
  return [
    ...(before === undefined ? [step(add, { accountId }, 'stop')] : []),
    step(replace, { ...columns, ...known(accountId, before) }, 'stop'),
  ];
}

function toAlert(row: AlertRow): Alert {
  return {
    id: row.id as AlertId,
    accountId: row.account_id as AccountId,
    kind: row.kind as AlertKind,
    createdAtMs: Number(row.created_at_ms),
    details: JSON.parse(row.details) as AlertDetails,
    state: row.state as DeliveryState,
    attempts: Number(row.attempts),
    nextAttemptAtMs: optionalNumber(row.next_attempt_at_ms),
    deliveredAtMs: optionalNumber(row.delivered_at_ms),
    lastFailure: optionalText(row.last_failure),
  };
}
