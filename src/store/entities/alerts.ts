import { sql, type UpdateObject } from 'kysely';
import {
  type Alert,
  type AlertDetails,
  type AlertKind,
  type AlertMark,
  type AlertStore,
  alertsKept,
  type DeliveryState,
  type DueAlert,
} from '../../core/entities/alert.ts';
import type { AccountId, AlertId } from '../../core/values/ids.ts';
import type { Executor } from '../sql/executor.ts';
import { hasChanged, type Step, step } from '../sql/job.ts';
import { pageOf } from '../sql/page-of.ts';
import { type AlertRow, afterAll, type Database, optionalNumber, optionalText } from '../sql/schema.ts';
import { query, statement } from '../sql/statement.ts';
import {
  confirmationStore,
  destinationFrom,
  removeSettings,
  replaceSettings,
  replaceWaiting,
  settingsOf,
  turnDestinationOff,
} from './alert-settings.ts';
import { change } from './audit.ts';
import { readUsedCredits, readWatchedAccounts } from './watched-accounts.ts';

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

interface InsertedAlert extends Omit<Alert, 'details' | 'delivery'> {
  readonly details: string;
  readonly attempts: number;
  readonly nextAttemptAtMs: number | undefined;
}

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
      const set = settings ? replaceSettings(settings, before) : removeSettings(accountId);
      const failure = 'The destination was removed.';
      const givenUp = settings?.destination === undefined ? [step(giveUpAll, { accountId, failure })] : [];
      const isSet = await change(executor, audit, [set, ...replaceWaiting(accountId, waiting), ...givenUp]);
      return isSet || settings === undefined;
    },

    ...confirmationStore(executor),

    watched: (moment, page) => readWatchedAccounts(executor, moment, page),

    usedCredits: (counts) => readUsedCredits(executor, counts),

    async raise(alert, mark, read) {
      const { id, accountId, kind, createdAtMs, delivery } = alert;
      const { attempts, nextAttemptAtMs } = delivery;
      const details = JSON.stringify(alert.details);
      const moved = { accountId, ...mark, readBasis: read?.basis, readThreshold: read?.threshold };
      const raised = await run(
        step(moveMark, moved, 'stop'),
        step(insert, { id, accountId, kind, createdAtMs, details, attempts, nextAttemptAtMs }),
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

    async turnOff(due, atMs, failure) {
      const { accountId } = due.alert;
      await run(turnDestinationOff(due, atMs), step(giveUpAll, { accountId, failure }));
    },
  };
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
