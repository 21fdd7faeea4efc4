import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Alert, AlertDelivery } from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import { alertWords } from '../../../src/core/alerts/alert-words.ts';
import { creditsText, nanoOf } from '../credits.ts';
import { dateText, durationText, percentText, spanText, wholeText } from '../format.tsx';

/** An alert as a sentence without its full stop, in the reader's language of numbers. @param keys names by id */
export function alertText(alert: Alert, keys: ReadonlyMap<string, string>): string {
  return alertWords(alert, {
    percent: (percent) => percentText(percent / 100),
    credits: (amount) => creditsText(nanoOf(amount)),
    units: (amount) => wholeText(BigInt(amount)),
    date: (date) => dateText(date),
    key: (id) => keys.get(id) ?? id,
  });
}

/** Delivery of an alert to its destination, in words. */
export function deliveryText({
  attempts,
  nextAttemptAt,
  deliveredAt,
  lastFailure,
  state,
}: AlertDelivery): string {
  const tries = attempts === 1 ? 'at the first attempt' : `after ${wholeText(attempts)} attempts`;
  if (state === 'none') return 'Only listed, as there was no destination.';
  if (state === 'delivered')
    return `Delivered ${deliveredAt ? spanText(timestampDate(deliveredAt)) : ''}, ${tries}.`;
  const failure = lastFailure ?? '';
  if (state === 'failed') return `Given up ${tries}. ${failure}`;
  if (nextAttemptAt === undefined) return failure;
  const waitMs = timestampDate(nextAttemptAt).getTime() - Date.now();
  return `${failure} The next attempt follows ${waitMs > 0 ? `in ${durationText(Math.ceil(waitMs / 1000) * 1000)}` : 'now'}.`;
}
