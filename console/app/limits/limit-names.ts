/** The limits of keys and accounts, by their names in the API. */
import type { LimitCount, Limits } from '../../../gen/parley/account/v1/limits_pb.ts';
import { creditsText, nanoOf } from '../credits.ts';
import { secondsText, wholeText } from '../format.tsx';

/** Whole numbers, in the order of the form. */
export const wholeLimits = [
  ['requestsPerMinute', 'requests_per_minute', 'Requests per minute'],
  ['tokensPerMinute', 'tokens_per_minute', 'Tokens per minute'],
  ['concurrentRequests', 'concurrent_requests', 'Concurrent requests'],
  ['audioSecondsPerDay', 'audio_seconds_per_day', 'Seconds of audio per day'],
  ['charactersPerDay', 'characters_per_day', 'Characters per day'],
] as const;

export const budgetPeriods = [
  ['day', 'Credits per day'],
  ['month', 'Credits per month'],
  ['total', 'Credits in total'],
] as const;

export const endUserPeriods = [
  ['day', 'Credits of each end user per day'],
  ['month', 'Credits of each end user per month'],
] as const;

const countTitles: Readonly<Record<string, string>> = {
  'budgets.day': 'Credits today',
  'budgets.month': 'Credits this month',
  'budgets.total': 'Credits in total',
  audio_seconds_per_day: 'Audio today',
  characters_per_day: 'Characters today',
};

export const countTitle = ({ name }: LimitCount): string => countTitles[name] ?? name;

const isBudget = ({ name }: LimitCount): boolean => name.startsWith('budgets.');

/** The used part of a limit, 0 to 1 or above. A limit of 0 is used up. */
export function usedShare(count: LimitCount): number {
  const [used, limit] = isBudget(count)
    ? [Number(nanoOf(count.used)), Number(nanoOf(count.limit))]
    : [Number(count.used), Number(count.limit)];
  return limit === 0 ? 1 : used / limit;
}

/** Text such as `3.50 of 20.00 credits`. */
export function countText(count: LimitCount): string {
  const { name, used, limit } = count;
  if (isBudget(count)) return `${creditsText(nanoOf(used))} of ${creditsText(nanoOf(limit))} credits`;
  if (name === 'audio_seconds_per_day')
    return `${secondsText(Number(used))} of ${secondsText(Number(limit))}`;
  return `${wholeText(BigInt(used))} of ${wholeText(BigInt(limit))}`;
}

/** The limits without a lasting count, as text. */
export function fixedLimits({
  models,
  addresses,
  perEndUser,
  ...limits
}: Limits): [name: string, text: string][] {
  const lists: [string, string][] = [
    ['Models', models.join(', ')],
    ['Addresses', addresses.join(', ')],
  ];
  const rates = wholeLimits
    .slice(0, 3)
    .flatMap(([field, , title]): [string, string][] =>
      limits[field] === undefined ? [] : [[title, wholeText(limits[field])]],
    );
  const budgets = endUserPeriods.flatMap(([period, title]): [string, string][] =>
    perEndUser?.[period] === undefined ? [] : [[title, creditsText(nanoOf(perEndUser[period]))]],
  );
  return [...lists.filter(([, text]) => text !== ''), ...rates, ...budgets];
}
