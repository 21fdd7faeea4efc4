/** Settings and alerts in the form of requests, answers and webhooks. */
import { create, toJsonString } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type Alert as AlertMessage,
  AlertSchema,
  type AlertSettings as AlertSettingsMessage,
  AlertSettingsSchema,
} from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import type { Alert, AlertSettings, WaitingAddress } from '../entities/alert.ts';
import { bounds, isWithin } from '../values/bounds.ts';
import { ParleyError } from '../values/errors.ts';
import { formatCredits, type NanoCredits, parseCredits } from '../values/money.ts';
import { invalid } from '../values/parameters.ts';
import {
  type DestinationRules,
  describeDestination,
  readDestination,
  type WantedDestination,
} from './destinations.ts';

const percentsByDefault = [50, 80, 100];

export type WantedSettings = AlertSettings & Pick<WantedDestination, 'secret'>;

/** @throws `invalid_parameter` */
export function readAlertSettings(message: AlertSettingsMessage, rules: DestinationRules): WantedSettings {
  const { percents, balanceBelow } = message;
  return {
    destination: undefined,
    ...readDestination(message, rules),
    percents: readPercents(percents),
    balanceBelow: balanceBelow === undefined ? undefined : readBalance(balanceBelow),
  };
}

function readPercents(percents: readonly number[]): readonly number[] {
  if (percents.length === 0) return percentsByDefault;
  const { maxItems } = bounds.percents;
  const isRight =
    percents.length <= maxItems && percents.every((percent) => isWithin(percent, bounds.percent));
  if (isRight) return [...new Set(percents)].sort((a, b) => a - b);
  throw invalid(
    'settings.percents',
    `\`settings.percents\` takes at most ${maxItems} whole numbers from 1 to 100.`,
  );
}

function readBalance(text: string): NanoCredits {
  try {
    const amount = parseCredits(text);
    if (amount > 0n) return amount;
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    throw invalid('settings.balance_below', error.message);
  }
  throw invalid('settings.balance_below', '`settings.balance_below` must be above zero.');
}

/**
 * @param waiting addresses of mail that wait for a confirmation
 * @param slackUrl undefined for other destinations, and if it cannot be read
 */
export function describeAlertSettings(
  { destination, percents, balanceBelow }: AlertSettings,
  waiting: readonly WaitingAddress[],
  slackUrl: string | undefined,
): AlertSettingsMessage {
  return create(AlertSettingsSchema, {
    percents: [...percents],
    ...(destination !== undefined && describeDestination(destination, waiting, slackUrl)),
    ...(balanceBelow !== undefined && { balanceBelow: formatCredits(balanceBelow) }),
  });
}

export function describeAlert(alert: Alert): AlertMessage {
  const { resetsAtMs, endsAtMs, ...details } = alert.details;
  const { nextAttemptAtMs, deliveredAtMs, lastFailure, ...delivery } = alert.delivery;
  return create(AlertSchema, {
    id: alert.id,
    type: alert.kind,
    accountId: alert.accountId,
    createdAt: timestampFromMs(alert.createdAtMs),
    ...details,
    ...(resetsAtMs !== undefined && { resetsAt: timestampFromMs(resetsAtMs) }),
    ...(endsAtMs !== undefined && { endsAt: timestampFromMs(endsAtMs) }),
    delivery: {
      ...delivery,
      ...(nextAttemptAtMs !== undefined && { nextAttemptAt: timestampFromMs(nextAttemptAtMs) }),
      ...(deliveredAtMs !== undefined && { deliveredAt: timestampFromMs(deliveredAtMs) }),
      ...(lastFailure !== undefined && { lastFailure }),
    },
  });
}

/** The JSON for a webhook, the same in each attempt. */
export function webhookBody(alert: Alert): string {
  const message = describeAlert(alert);
  delete message.delivery;
  return toJsonString(AlertSchema, message);
}
