import type {
  Alert,
  AlertMark,
  AlertStore,
  AttemptEnd,
  CreditCount,
  DueAlert,
  StoredAlertSettings,
  WatchedAccount,
  WatchMoment,
} from '../core/entities/alert.ts';
import type { AuditEntry } from '../core/entities/audit.ts';
import type { AccountId, AlertId } from '../core/values/ids.ts';
import type { Page, PageRequest } from '../core/values/page.ts';
import {
  alertSettingsOf,
  removeAlertSettings,
  setAlertSettings,
  turnWebhookOff,
} from './entities/alert-settings.ts';
import {
  alertsBefore,
  claimAlert,
  dueAlerts,
  endAttempt,
  giveUpAlerts,
  raiseAlert,
} from './entities/alerts.ts';
import { insertAudit } from './entities/audit.ts';
import { readUsedCredits, readWatchedAccounts } from './entities/watched-accounts.ts';
import type { Executor } from './sql/executor.ts';
import { hasChanged } from './sql/job.ts';
import { pageOf } from './sql/page-of.ts';
import { afterAll } from './sql/schema.ts';

/** Operations of alerts, written once for every database. */
export class ColdAlerts implements AlertStore {
  readonly #executor: Executor;

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  alertSettings(accountId: AccountId): Promise<StoredAlertSettings | undefined> {
    return this.#executor.get(alertSettingsOf, { accountId });
  }

  async setAlertSettings(
    id: AccountId,
    settings: StoredAlertSettings | undefined,
    audit: AuditEntry,
  ): Promise<void> {
    const change = settings ? setAlertSettings(settings) : removeAlertSettings(id);
    const isHeard = settings?.webhookUrl !== undefined;
    const giveUp = isHeard ? [] : [giveUpAlerts(id, 'The webhook was removed.')];
    await this.#executor.run({ steps: [change, ...giveUp, insertAudit(audit)] });
  }

  watchedAccounts(moment: WatchMoment, page: PageRequest): Promise<readonly WatchedAccount[]> {
    return readWatchedAccounts(this.#executor, moment, page);
  }

  usedCredits(counts: readonly CreditCount[]): Promise<readonly bigint[]> {
    return readUsedCredits(this.#executor, counts);
  }

  async raiseAlert(alert: Alert, mark: AlertMark, read?: AlertMark): Promise<boolean> {
    return hasChanged(await this.#executor.run({ steps: raiseAlert(alert, mark, read) }));
  }

  listAlerts(accountId: AccountId, page: PageRequest): Promise<Page<Alert, AlertId>> {
    return pageOf(page, ({ size, after = afterAll }) =>
      this.#executor.all(alertsBefore, { accountId, after, size }),
    );
  }

  dueAlerts(nowMs: number, size: number): Promise<readonly DueAlert[]> {
    return this.#executor.all(dueAlerts, { nowMs: BigInt(nowMs), size });
  }

  async claimAlert(alert: Alert, nextAttemptAtMs: number): Promise<boolean> {
    return hasChanged(await this.#executor.run({ steps: [claimAlert(alert, nextAttemptAtMs)] }));
  }

  async endAttempt(alert: Alert, end: AttemptEnd): Promise<void> {
    await this.#executor.run({ steps: endAttempt(alert, end) });
  }

  async turnWebhookOff(id: AccountId, webhookUrl: string, atMs: number, failure: string): Promise<void> {
    await this.#executor.run({
      steps: [turnWebhookOff(id, webhookUrl, atMs), giveUpAlerts(id, failure)],
    });
  }
}
