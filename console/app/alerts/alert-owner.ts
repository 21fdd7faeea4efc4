/** Reads and changes the alerts of an account, for a key of the account or an operator. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { Alert, AlertSettings, AlertSettingsSchema } from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import { admin, alerts } from '../api.ts';

export interface AlertState {
  /** Undefined if no alerts are raised. */
  readonly settings?: AlertSettings | undefined;
  /** When the webhook was turned off, because it answered 410. */
  readonly webhookOffAt?: Timestamp | undefined;
}

export interface WantedSettings {
  /** Undefined for no alerts. */
  readonly settings?: MessageInitShape<typeof AlertSettingsSchema>;
  readonly newSecret?: boolean;
}

interface PageRequest {
  readonly pageSize: number;
  readonly pageToken?: string;
}

export interface AlertOwner {
  /** Empty for the account of this session. */
  readonly accountId: string;
  readonly read: (signal: AbortSignal) => Promise<AlertState>;
  /** Returns a secret only if it is new. */
  readonly set: (wanted: WantedSettings) => Promise<string | undefined>;
  readonly list: (
    page: PageRequest,
    signal: AbortSignal,
  ) => Promise<{ readonly alerts: Alert[]; readonly nextPageToken?: string | undefined }>;
  readonly test: () => Promise<Alert | undefined>;
}

/** The alerts of the account of this session, for a key that manages. */
export const ownAlerts: AlertOwner = {
  accountId: '',
  read: (signal) => alerts.getAlertSettings({}, { signal }),
  set: async (wanted) => (await alerts.setAlertSettings(wanted)).secret,
  list: (page, signal) => alerts.listAlerts(page, { signal }),
  test: async () => (await alerts.sendTestAlert({})).alert,
};

/** The alerts of an account, for an operator. */
export function alertsOfAccount(accountId: string): AlertOwner {
  return {
    accountId,
    read: (signal) => admin.getAlertSettings({ accountId }, { signal }),
    set: async (wanted) => (await admin.setAlertSettings({ accountId, ...wanted })).secret,
    list: (page, signal) => admin.listAlerts({ accountId, ...page }, { signal }),
    test: async () => (await admin.sendTestAlert({ accountId })).alert,
  };
}
