import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Alert, AlertDelivery } from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import { creditsText, dateText, durationText, nanoOf, percentText, spanText, wholeText } from '../format.tsx';

const budgets: Readonly<Record<string, string>> = {
  'budgets.day': 'the budget for the day',
  'budgets.month': 'the budget for the month',
  'budgets.total': 'the budget',
};

/** Words an alert as a sentence without its full stop. @param keys names by id */
export function alertText(alert: Alert, keys: ReadonlyMap<string, string>): string {
  const { type, keyId, percent = 100, limitName = '', balance = '0', balanceBelow = '0', endsAt } = alert;
  const share = percentText(percent / 100);
  const end = endsAt === undefined ? '' : ` on ${dateText(timestampDate(endsAt))}`;
  switch (type) {
    case 'budget.used': {
      const whose = keyId === undefined ? 'the account' : `the key ${keys.get(keyId) ?? keyId}`;
      return `${share} of ${budgets[limitName] ?? limitName} of ${whose} is used${usedText(alert, credits)}`;
    }
    case 'fair_use.used':
      return `${share} of the fair use of the month is used${usedText(alert, (units) => wholeText(BigInt(units)))}`;
    case 'credits.low':
      return `Fewer than ${credits(balanceBelow)} credits are left: ${credits(balance)}`;
    case 'trial.ending':
      return `The trial ends${end}`;
    case 'plan.ending':
      return `The plan ends${end}`;
    case 'trial.ended':
      return `The trial has ended${end}`;
    case 'plan.ended':
      return `The plan has ended${end}`;
    case 'test':
      return 'A test';
    default:
      return type;
  }
}

const credits = (amount: string): string => creditsText(nanoOf(amount));

function usedText({ used, limit }: Alert, text: (amount: string) => string): string {
  return used === undefined || limit === undefined ? '' : `: ${text(used)} of ${text(limit)}`;
}

/** Delivery of an alert to the webhook, in words. */
export function deliveryText({
  attempts,
  nextAttemptAt,
  deliveredAt,
  lastFailure,
  state,
}: AlertDelivery): string {
  const tries = attempts === 1 ? 'at the first attempt' : `after ${wholeText(attempts)} attempts`;
  if (state === 'none') return 'Only listed, as there was no webhook.';
  if (state === 'delivered')
    return `Delivered ${deliveredAt ? spanText(timestampDate(deliveredAt)) : ''}, ${tries}.`;
  const failure = lastFailure ?? '';
  if (state === 'failed') return `Given up ${tries}. ${failure}`;
  if (nextAttemptAt === undefined) return failure;
  const waitMs = timestampDate(nextAttemptAt).getTime() - Date.now();
  return `${failure} The next attempt follows ${waitMs > 0 ? `in ${durationText(Math.ceil(waitMs / 1000) * 1000)}` : 'now'}.`;
}
