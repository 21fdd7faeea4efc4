/** Settings and alerts in the form of requests, answers and webhooks. */
import { create, type MessageInitShape, toJsonString } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type AlertDeliverySchema,
  type Alert as AlertMessage,
  AlertSchema,
  type AlertSettings as AlertSettingsMessage,
  AlertSettingsSchema,
} from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import type { Alert, AlertDelivery, AlertSettings } from '../entities/alert.ts';
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

/** @throws `invalid_parameter` */
export function readAlertSettings(
  message: AlertSettingsMessage,
  rules: DestinationRules,
): AlertSettings & Pick<WantedDestination, 'secret'> {
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
  settings: AlertSettings,
  waiting: readonly string[],
  slackUrl?: string,
): AlertSettingsMessage {
  const { destination, percents, balanceBelow } = settings;
  return create(AlertSettingsSchema, {
    percents: [...percents],
    ...(destination !== undefined && describeDestination(destination, waiting, slackUrl)),
    ...(balanceBelow !== undefined && { balanceBelow: formatCredits(balanceBelow) }),
  });
}

export function describeAlert(alert: Alert): AlertMessage {
  const { id, kind: type, createdAtMs, accountId, delivery } = alert;
  const { resetsAtMs, endsAtMs, ...details } = alert.details;
  return create(AlertSchema, {
    id,
    type,
    accountId,
    ...details,
    createdAt: timestampFromMs(createdAtMs),
    ...(resetsAtMs !== undefined && { resetsAt: timestampFromMs(resetsAtMs) }),
    ...(endsAtMs !== undefined && { endsAt: timestampFromMs(endsAtMs) }),
    delivery: describeDelivery(delivery),
  });
}

/** The JSON for a webhook, the same in each attempt. */
export function webhookBody(alert: Alert): string {
  const message = describeAlert(alert);
  delete message.delivery;
  return toJsonString(AlertSchema, message);
}

function describeDelivery(delivery: AlertDelivery): MessageInitShape<typeof AlertDeliverySchema> {
  const { state, attempts, nextAttemptAtMs, deliveredAtMs, lastFailure } = delivery;
  return {
    state,
    attempts,
    ...(nextAttemptAtMs !== undefined && { nextAttemptAt: timestampFromMs(nextAttemptAtMs) }),
    ...(deliveredAtMs !== undefined && { deliveredAt: timestampFromMs(deliveredAtMs) }),
    ...(lastFailure !== undefined && { lastFailure }),
  };
}
