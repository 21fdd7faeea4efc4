/** Reads and changes the alerts of an account, for a key of the account or an operator. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import type {
  Alert,
  AlertSettingsSchema,
  GetAlertSettingsResponse,
  ListAlertsResponse,
  WaitingAddress,
} from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import { AlertsService } from '../../../gen/parley/alerts/v1/alerts_service_pb.ts';
import { admin, transport } from '../api.ts';

const alerts = createClient(AlertsService, transport);

export type AlertState = GetAlertSettingsResponse;

export interface WantedSettings {
  /** Undefined for no alerts. */
  readonly settings?: MessageInitShape<typeof AlertSettingsSchema>;
  readonly newSecret?: boolean;
}

export interface AlertOwner {
  /** Empty for the account of this session. */
  readonly accountId: string;
  readonly read: (signal: AbortSignal) => Promise<AlertState>;
  /** Returns a secret only if it is new. */
  readonly set: (wanted: WantedSettings) => Promise<string | undefined>;
  readonly list: (
    page: { readonly pageSize: number; readonly pageToken?: string },
    signal: AbortSignal,
  ) => Promise<ListAlertsResponse>;
  readonly test: () => Promise<Alert | undefined>;
  /** Mails another code to an address that waits for its confirmation. */
  readonly sendCode: (address: string) => Promise<WaitingAddress | undefined>;
  readonly confirm: (code: string) => Promise<unknown>;
}

/** The alerts of the account of this session, for a key that manages. */
export const ownAlerts = alertsBy(alerts, {});

/** The alerts of an account, for an operator. */
export function alertsOfAccount(accountId: string): AlertOwner {
  return alertsBy(admin, { accountId });
}

function alertsBy(client: typeof alerts, account: { readonly accountId?: string }): AlertOwner {
  return {
    accountId: account.accountId ?? '',
    read: (signal) => client.getAlertSettings(account, { signal }),
    set: async (wanted) => (await client.setAlertSettings({ ...account, ...wanted })).secret,
    list: (page, signal) => client.listAlerts({ ...account, ...page }, { signal }),
    test: async () => (await client.sendTestAlert(account)).alert,
    sendCode: async (address) => (await client.sendMailConfirmation({ ...account, address })).waitingAddress,
    confirm: (code) => client.confirmMailAddress({ ...account, code }),
  };
}
