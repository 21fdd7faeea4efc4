/** The values that a chart of usage can show, and their sums. */
import { creditsText, exactCredits } from '../credits.ts';
import { secondsText, shortText, wholeText } from '../format.tsx';
import type { Total } from './source.ts';

export interface Measure {
  readonly name: string;
  readonly label: string;
  /** Its name in `top_by` of the API. */
  readonly topBy: string;
  readonly of: (total: Total) => bigint;
  readonly text: (value: bigint) => string;
  readonly exact: (value: bigint) => string;
  /** Whether its values are whole numbers, as counts are. */
  readonly isWhole: boolean;
  /** The value on the axis of the chart. */
  readonly plotted: (value: bigint) => number;
}

const counted = (name: string, label: string, of: Measure['of'], topBy = name): Measure => ({
  name,
  label,
  topBy,
  of,
  text: (value) => (value < 100_000n ? wholeText(value) : shortText(Number(value))),
  exact: wholeText,
  isWhole: true,
  plotted: Number,
});

export const measureOf = {
  requests: counted('requests', 'Requests', ({ requests }) => requests),
  credits: {
    name: 'credits',
    label: 'Credits',
    topBy: 'cost',
    of: ({ costNanoCredits }) => costNanoCredits,
    text: creditsText,
    exact: exactCredits,
    isWhole: false,
    plotted: (value) => Number(value) / 1e9,
  },
  tokens: counted(
    'tokens',
    'Tokens',
    ({ promptTokens, completionTokens }) => promptTokens + completionTokens,
  ),
  cached: counted('cached', 'Cached tokens', ({ cachedTokens }) => cachedTokens, 'cached_tokens'),
  characters: counted('characters', 'Characters spoken', ({ characters }) => characters),
  audio: {
    name: 'audio',
    label: 'Audio transcribed',
    topBy: 'audio_seconds_in',
    of: ({ audioSecondsIn }) => BigInt(Math.round(audioSecondsIn * 1000)),
    text: (value) => secondsText(Number(value) / 1000),
    exact: (value) => `${Number(value) / 1000} s`,
    isWhole: false,
    plotted: (value) => Number(value) / 1000,
  },
} as const satisfies Readonly<Record<string, Measure>>;

/** In the order in which people choose among them. */
export const measures: readonly Measure[] = Object.values(measureOf);

/** The name of what is shown together, as it is too small to be shown apart. */
export const othersName = 'all others';

export const dimensions = [
  'operation',
  'model',
  'state',
  'code',
  'engine',
  'status',
  'key',
  'account',
  'user',
  'tags',
] as const;
export type Dimension = (typeof dimensions)[number];

export function groupName(total: Total, dimension: Dimension): string {
  if (total.rest) return othersName;
  if (dimension === 'account') return total.accountId ?? 'none';
  if (dimension === 'user') return total.endUser ?? 'none';
  if (dimension === 'tags') return total.tags.join(', ') || 'none';
  if (dimension === 'status') return total.httpStatus?.toString() ?? 'none';
  return (dimension === 'key' ? total.keyId : total[dimension]) ?? 'none';
}

export interface Group {
  readonly name: string;
  readonly totals: readonly Total[];
  readonly sum: bigint;
}

/** The groups of a dimension, the largest first. */
export function groupsOf(totals: readonly Total[], dimension: Dimension, measure: Measure): Group[] {
  const byName = Map.groupBy(totals, (total) => groupName(total, dimension));
  return [...byName]
    .map(([name, own]) => ({ name, totals: own, sum: sumOf(own, measure) }))
    .sort((one, other) =>
      one.sum === other.sum ? (one.name < other.name ? -1 : 1) : one.sum < other.sum ? 1 : -1,
    );
}

/** Whether it is of requests that ended with an error of the server or an engine. */
export const isFailed = ({ state }: Total): boolean => state === 'failed' || state === 'interrupted';

export function sumOf(totals: readonly Total[], { of }: Measure): bigint {
  return totals.reduce((sum, total) => sum + of(total), 0n);
}

/** The sums of each hour, day or month, in the order of `steps`. */
export function seriesOf(totals: readonly Total[], steps: readonly string[], measure: Measure): bigint[] {
  const byStep = Map.groupBy(totals, ({ hour, day, month }) => hour ?? day ?? month ?? '');
  return steps.map((step) => sumOf(byStep.get(step) ?? [], measure));
}
