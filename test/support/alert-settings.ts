import type { StoredAlertSettings } from '../../src/core/entities/alert.ts';
import type { AccountId } from '../../src/core/values/ids.ts';
import { nanoCredits } from '../../src/core/values/money.ts';

/** Alerts at half of a limit and below the smallest balance. Default: without a destination. */
export function alertSettings(
  accountId: AccountId,
  more: Partial<StoredAlertSettings> = {},
): StoredAlertSettings {
  const none = { destination: undefined, sealedSecret: undefined, offAtMs: undefined };
  return { accountId, percents: [50], balanceBelow: nanoCredits(1n), ...none, ...more };
}
