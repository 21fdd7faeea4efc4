import type { NewAlertSettings } from '../../src/core/entities/alert.ts';
import type { Store } from '../../src/core/entities/store.ts';
import type { AccountId } from '../../src/core/values/ids.ts';
import { nanoCredits } from '../../src/core/values/money.ts';
import { auditEntry } from './stored-key.ts';

/** Alerts at half of a limit and below the smallest balance. Default: without a destination. */
export function alertSettings(more: Partial<NewAlertSettings> = {}): NewAlertSettings {
  const none = { destination: undefined, sealedSecret: undefined };
  return { percents: [50], balanceBelow: nanoCredits(1n), ...none, ...more };
}

/** Replaces the settings of an account. Default: those of `alertSettings` */
export async function setAlerts(
  { alerts }: Pick<Store, 'alerts'>,
  accountId: AccountId,
  settings: NewAlertSettings | undefined = alertSettings(),
): Promise<void> {
  await alerts.setSettings(accountId, settings, auditEntry(), [], await alerts.settings(accountId));
}
