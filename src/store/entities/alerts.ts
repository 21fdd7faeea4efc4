/** Alerts: their settings, the addresses of mail that wait for a confirmation, what they watch, and those that were raised. */
import { setImmediate as turn } from 'node:timers/promises';
import { sql, type UpdateObject } from 'kysely';
import {
  type Alert,
  type AlertDelivery,
  type AlertDetails,
  type AlertKind,
  type AlertMark,
  type AlertStore,
  alertsKept,
  type CreditCount,
  type DeliveryState,
  type Destination,
  type DueAlert,
  type MailCode,
  type StoredAlertSettings,
  type WaitingAddress,
  type WatchedAccount,
  type WatchedKey,
  type WatchMoment,
} from '../../core/entities/alert.ts';
import { limitsFromText } from '../../core/entities/limits.ts';
import type { AccountId, AlertId, KeyId } from '../../core/values/ids.ts';
import { nanoCredits } from '../../core/values/money.ts';
import type { PageRequest } from '../../core/values/parameters.ts';
import type { Dialect } from '../sql/dialect.ts';
import type { Executor, Queries } from '../sql/executor.ts';
import { pageOf } from '../sql/executor.ts';
import { hasChanged, type Step, step } from '../sql/job.ts';
import {
  type AlertMarkRow,
  type AlertRow,
  type AlertSettingsRow,
  afterAll,
  type Database,
  optionalNumber,
  optionalText,
  type WaitingAddressRow,
} from '../sql/schema.ts';
import { columnsOf, query, statement } from '../sql/statement.ts';
import { toAccount, withPeriods } from './account-rows.ts';
import { change } from './audit.ts';

interface OfAccount {
  readonly accountId: AccountId;
}

const settingsOf = statement((p: OfAccount) =>
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

function toSettings(row: AlertSettingsRow): StoredAlertSettings {
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
/** Number of counts that one query reads. */
const countsAtOnce = 500;

const watchedAccounts = statement((p: { after: string; size: number; month: string }, dialect) =>
  withPeriods()
    .innerJoin('alert_settings', 'alert_settings.account_id', 'accounts.id')
    .selectAll('alert_settings')
    .select((watched) => [
      watched
        .selectFrom('limit_counts')
        .select('used')
        .where('owner', '=', dialect.ownerOfAccount)
        .where('unit', '=', sql.lit('fair_use'))
        .where('period', '=', p.month)
        .as('units'),
      latestLoad(dialect).as('latest_load'),
    ])
    // Starts from the settings, as many accounts may have none.
    .where('alert_settings.account_id', '>', p.after)
    .where('suspended_at_ms', 'is', null)
    .where('deleted_at_ms', 'is', null)
    .orderBy('alert_settings.account_id')
    .limit(p.size),
);
function latestLoad({ entryId, otherEntries }: Dialect) {
  return sql<string | null>`(select ${entryId} from ${otherEntries}
    and balance_nano_credits < balance_below and amount_nano_credits > 0
    order by created_at_ms desc, id desc limit 1)`;
}

/** A cross join keeps its order in SQLite, which matters as accounts without settings may have many keys. */
const limitedKeys = statement((p: Span & { readonly nowMs: bigint }) =>
  query
    .selectFrom('alert_settings')
    .crossJoin('api_keys')
    .select(['api_keys.id as key_id', 'api_keys.account_id', 'origin_id', 'limits'])
    .whereRef('api_keys.account_id', '=', 'alert_settings.account_id')
    .where('alert_settings.account_id', '>', p.after)
    .where('alert_settings.account_id', '<=', p.last)
    .where('limits', '<>', sql.lit(''))
    .where('revoked_at_ms', 'is', null)
    .where(({ or, eb }) => or([eb('expires_at_ms', 'is', null), eb('expires_at_ms', '>', p.nowMs)]))
    .orderBy('api_keys.id'),
);
const marks = statement((p: Span) =>
  query
    .selectFrom('alert_marks')
    .selectAll()
    .where('account_id', '>', p.after)
    .where('account_id', '<=', p.last),
);
const usedCredits = statement((p: { owners: string; periods: string }, dialect) =>
  query
    .selectFrom('limit_counts')
    .select(['owner', 'period', 'used'])
    .where('owner', 'in', dialect.textsOf(p.owners))
    .where('unit', '=', sql.lit('credits'))
    .where('period', 'in', dialect.textsOf(p.periods)),
);

async function readWatchedAccounts(
  queries: Queries,
  { month, nowMs }: WatchMoment,
  { after = '', size }: PageRequest,
): Promise<readonly WatchedAccount[]> {
  const rows = await queries.all(watchedAccounts, { after, size, month });
  const last = rows.at(-1)?.id;
  if (last === undefined) return [];
  const keys = await queries.all(limitedKeys, { after, last, nowMs: BigInt(nowMs) });
  const keysOf = Map.groupBy(keys, (key) => key.account_id);
  const marksOf = Map.groupBy(await queries.all(marks, { after, last }), (mark) => mark.account_id);
  return rows.map((row) => ({
    account: toAccount(row),
    settings: toSettings(row),
    unitsUsed: row.units ?? 0n,
    latestLoad: row.latest_load ?? '',
    keys: (keysOf.get(row.id) ?? []).flatMap(toWatchedKey),
    marks: (marksOf.get(row.id) ?? []).map(toMark),
  }));
}

async function readUsedCredits(queries: Queries, counts: readonly CreditCount[]): Promise<bigint[]> {
  const distinct = (texts: readonly string[]) => JSON.stringify([...new Set(texts)]);
  const nameOf = ({ owner, period }: CreditCount) => `${owner} ${period}`;
  const used = new Map<string, bigint>();
  for (let at = 0; at < counts.length; at += countsAtOnce) {
    const some = counts.slice(at, at + countsAtOnce);
    const owners = distinct(some.map(({ owner }) => owner));
    const periods = distinct(some.map(({ period }) => period));
    for (const row of await queries.all(usedCredits, { owners, periods })) used.set(nameOf(row), row.used);
    // SQLite reads synchronously, so other requests run between pages.
    await turn();
  }
  return counts.map((count) => used.get(nameOf(count)) ?? 0n);
}

function toWatchedKey(row: { key_id: string; origin_id: string; limits: string }): WatchedKey[] {
  const limits = limitsFromText(row.limits);
  if (limits === undefined) return [];
  return [{ id: row.key_id as KeyId, originId: (row.origin_id || row.key_id) as KeyId, limits }];
}

function toMark({ kind, subject, period, basis, threshold }: AlertMarkRow): AlertMark {
  return { kind: kind as AlertKind, subject, period, basis, threshold: Number(threshold) };
}

interface MovedMark extends AlertMark {
  readonly accountId: AccountId;
  /** The mark that the caller has read has this basis and threshold. */
  readonly readBasis: string | undefined;
  readonly readThreshold: number | undefined;
}

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
const insert = statement((p: InsertedAlert) => {
  const source = sql`from alert_settings where account_id = ${p.accountId}
    and webhook_url is not null and webhook_off_at_ms is null`;
  return query
    .insertInto('alerts')
    .values({
      id: p.id,
      account_id: p.accountId,
      kind: p.kind,
      created_at_ms: p.createdAtMs,
      details: p.details,
      state: sql<string>`coalesce((select 'pending' ${source}), 'none')`,
      attempts: p.attempts,
      next_attempt_at_ms: sql<bigint | null>`(select ${whole(p.nextAttemptAtMs)} ${source})`,
    });
});

type InsertedAlert = Omit<Alert, 'details' | 'delivery'> & AlertDelivery & { readonly details: string };

const removeOld = statement((p: { accountId: AccountId }) =>
  query
    .deleteFrom('alerts')
    .where('account_id', '=', p.accountId)
    .where('id', '<=', (alerts) =>
      alerts
        .selectFrom('alerts as kept')
        .select('kept.id')
        .where('kept.account_id', '=', p.accountId)
        .orderBy('kept.id', 'desc')
        .limit(1)
        .offset(sql.lit(alertsKept)),
    ),
);
const alertsBefore = statement((p: { accountId: AccountId; after: string; size: number }) =>
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
    // A constant, so that SQLite uses the index of these alerts.
    .where(sql<boolean>`alerts.state = 'pending'`)
    .where('alerts.next_attempt_at_ms', '<=', p.nowMs)
    .where('webhook_url', 'is not', null)
    .where('webhook_off_at_ms', 'is', null)
    .where('suspended_at_ms', 'is', null)
    .where('deleted_at_ms', 'is', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('alerts as other')
            .select('other.id')
            .whereRef('other.account_id', '=', 'alerts.account_id')
            .where(sql<boolean>`other.state = 'pending'`)
            .where('other.next_attempt_at_ms', '<=', p.nowMs)
            .whereRef('other.id', '<', 'alerts.id'),
        ),
      ),
    )
    .orderBy('alerts.next_attempt_at_ms')
    .limit(p.size),
).map(toDue);
/** Changes nothing if another node was first. */
const claim = statement((p: { id: AlertId; dueAtMs: bigint; nextAttemptAtMs: number }) =>
  query
    .updateTable('alerts')
    .set({ next_attempt_at_ms: p.nextAttemptAtMs, attempts: sql`attempts + 1` })
    .where('id', '=', p.id)
    .where('next_attempt_at_ms', '=', p.dueAtMs),
);
const deliver = statement((p: { id: AlertId; atMs: number }) =>
  query
    .updateTable('alerts')
    .set({ state: sql.lit('delivered'), next_attempt_at_ms: null, delivered_at_ms: p.atMs })
    .where('id', '=', p.id),
);
const fail = statement((p: { id: AlertId; failure: string }) =>
  setPending({ last_failure: p.failure }).where('id', '=', p.id),
);
const giveUp = statement((p: { id: AlertId; failure: string }) =>
  setPending(givenUp(p.failure)).where('id', '=', p.id),
);
/** Alerts that are due before this time. */
const delayAll = statement((p: { accountId: AccountId; atMs: number }) =>
  setPending({ next_attempt_at_ms: p.atMs })
    .where('account_id', '=', p.accountId)
    .where('next_attempt_at_ms', '<', sql<bigint>`${p.atMs}`),
);
const giveUpAll = statement((p: { accountId: AccountId; failure: string }) =>
  setPending(givenUp(p.failure)).where('account_id', '=', p.accountId),
);

/** Changes only pending alerts. */
function setPending(set: UpdateObject<Database, 'alerts'>) {
  return query.updateTable('alerts').set(set).where(sql<boolean>`state = 'pending'`);
}

function givenUp(failure: string) {
  return { state: sql.lit('failed'), next_attempt_at_ms: null, last_failure: failure };
}

export function alertStore(executor: Executor): AlertStore {
  const run = (...steps: readonly Step[]) => executor.run({ steps });
  return {
    settings: (accountId) => executor.get(settingsOf, { accountId }),

    async setSettings(accountId, settings, audit, waiting = [], before) {
      const failure = 'The destination was removed.';
      const isSet = await change(executor, audit, [
        settings ? setting(settings, before) : step(remove, { accountId }),
        step(removeOthers, { accountId, addresses: JSON.stringify(waiting) }),
        ...waiting.map((address) => step(addWaiting, { accountId, address })),
        ...(settings?.destination ? [] : [step(giveUpAll, { accountId, failure })]),
      ]);
      return isSet || settings === undefined;
    },

    ...confirmationStore(executor),

    watched: (moment, page) => readWatchedAccounts(executor, moment, page),

    usedCredits: (counts) => readUsedCredits(executor, counts),

    async raise({ delivery, ...alert }, mark, read) {
      const { accountId } = alert;
      const moved = { accountId, ...mark, readBasis: read?.basis, readThreshold: read?.threshold };
      const raised = await run(
        step(moveMark, moved, 'stop'),
        step(insert, { ...alert, ...delivery, details: JSON.stringify(alert.details) }),
        step(removeOld, { accountId }),
      );
      return hasChanged(raised);
    },

    list: (accountId, page) =>
      pageOf(page, ({ size, after = afterAll }) => executor.all(alertsBefore, { accountId, after, size })),

    due: (nowMs, size) => executor.all(dueAlerts, { nowMs: BigInt(nowMs), size }),

    async claim({ id, delivery }, nextAttemptAtMs) {
      const dueAtMs = BigInt(delivery.nextAttemptAtMs ?? 0);
      return hasChanged(await run(step(claim, { id, dueAtMs, nextAttemptAtMs })));
    },

    async endAttempt({ id, accountId }, end) {
      if (end.state === 'delivered') {
        await run(step(deliver, { id, atMs: end.atMs }));
        return;
      }
      const { state, failure, nextAtMs: atMs } = end;
      await run(
        step(state === 'failed' ? giveUp : fail, { id, failure }),
        step(delayAll, { accountId, atMs }),
      );
    },

    async turnOff({ alert: { accountId }, destination, sealedSecret: secret }, atMs, failure) {
      const was = { accountId, destination: destinationText(destination), secret: secret ?? null };
      await run(step(turnOff, { ...was, atMs }, 'stop'), step(giveUpAll, { accountId, failure }));
    },
  };
}

function confirmationStore(executor: Executor) {
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

/** @param before the settings that it replaces; if others are stored, it stops. Default: any */
function setting(settings: StoredAlertSettings, before?: StoredAlertSettings | 'none'): Step {
  const parameters = parametersOf(settings);
  if (before === undefined) return step(replace, parameters);
  if (before === 'none') return step(add, parameters, 'stop');
  const { webhook_url: knownDestination, secret: knownSecret } = parametersOf(before);
  return step(replaceKnown, { ...parameters, knownDestination, knownSecret }, 'stop');
}

interface DueRow extends AlertRow {
  readonly webhook_url: string | null;
  readonly secret: string | null;
  readonly account_name: string;
}

function toDue(row: DueRow): DueAlert {
  return {
    alert: toAlert(row),
    accountName: row.account_name,
    destination: destinationFrom(row.webhook_url ?? ''),
    sealedSecret: optionalText(row.secret),
  };
}

function toAlert(row: AlertRow): Alert {
  return {
    id: row.id as AlertId,
    accountId: row.account_id as AccountId,
    kind: row.kind as AlertKind,
    createdAtMs: Number(row.created_at_ms),
    details: JSON.parse(row.details) as AlertDetails,
    delivery: {
      state: row.state as DeliveryState,
      attempts: Number(row.attempts),
      nextAttemptAtMs: optionalNumber(row.next_attempt_at_ms),
      deliveredAtMs: optionalNumber(row.delivered_at_ms),
      lastFailure: optionalText(row.last_failure),
    },
  };
}
