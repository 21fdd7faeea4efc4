/** Usage totals, in the form in which holders and operators request them. */
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import {
  type Top,
  type TotalDimension,
  type TotalsQuery,
  topMeasures,
  type UsageStore,
  type UsageTotal,
} from '../entities/usage.ts';
import { bounds, isWithin } from '../values/bounds.ts';
import { formatCredits } from '../values/money.ts';
import { invalid, readOneOf } from '../values/parameters.ts';

const dayMs = 86_400_000;
const totalsMax = 10_000;
/** Totals by hour read the records of all their hours, as stored sums are of days. */
const hoursMs = 2 * dayMs;

interface TotalsRequest {
  readonly startTime?: Timestamp | undefined;
  readonly endTime?: Timestamp | undefined;
  readonly groupBy: readonly string[];
  readonly keyId?: string | undefined;
  readonly top?: number | undefined;
  readonly topBy?: string | undefined;
}

/**
 * @param accountId undefined: all accounts
 * @param known the dimensions that the caller may group by
 * @throws `invalid_parameter`
 */
export async function readTotals(
  store: UsageStore,
  request: TotalsRequest,
  part: Pick<TotalsQuery, 'accountId' | 'signal'>,
  known: readonly TotalDimension[],
): Promise<readonly UsageTotal[]> {
  const groupBy = readDimensions(request.groupBy, known);
  const fromMs = firstOfDay('start_time', request.startTime);
  const untilMs = firstOfDay('end_time', request.endTime);
  if (groupBy.includes('hour') && (untilMs ?? Infinity) - (fromMs ?? 0) > hoursMs) {
    const message =
      '`hour` in `group_by` needs a `start_time` and an `end_time` that are at most two days apart.';
    throw invalid('group_by', message);
  }
  const totals = await store.totals({
    ...part,
    keyId: request.keyId,
    fromMs,
    untilMs,
    groupBy,
    totalsMax,
    top: readTop(request, groupBy),
  });
  if (totals !== 'too_many') return totals;
  const message = `There would be more than ${totalsMax} totals. Ask for the largest accounts or keys with \`top\`, group by less, or request fewer days.`;
  throw invalid('group_by', message);
}

function readTop({ top, topBy }: TotalsRequest, groupBy: readonly TotalDimension[]): Top | undefined {
  const by = readOneOf('top_by', topBy, topMeasures) ?? 'requests';
  if (top === undefined) return undefined;
  if (!isWithin(top, bounds.top)) throw invalid('top', `\`top\` must be from 1 to ${bounds.top.maximum}.`);
  const [dimension, other] = (['account', 'key'] as const).filter((name) => groupBy.includes(name));
  if (dimension !== undefined && other === undefined) return { dimension, by, size: top };
  throw invalid('top', '`top` needs either `account` or `key` in `group_by`.');
}

/** Totals of pruned records have a resolution of one day, so a range must consist of whole days. */
function firstOfDay(param: string, time: Timestamp | undefined): number | undefined {
  if (time === undefined) return undefined;
  const ms = timestampMs(time);
  if (ms >= 0 && ms % dayMs === 0 && time.nanos === 0) return ms;
  throw invalid(
    param,
    `\`${param}\` must be the first moment of a day in UTC, such as 2026-11-01T00:00:00Z.`,
  );
}

function readDimensions(names: readonly string[], known: readonly TotalDimension[]): TotalDimension[] {
  return [...new Set(names)].map((name) => {
    const dimension = known.find((one) => one === name);
    if (dimension !== undefined) return dimension;
    throw invalid('group_by', `\`group_by\` takes ${known.join(', ')}.`);
  });
}

/** The fields of a total. Only administrators group by account. */
export function describeTotal({ of, isRest, audioMsIn, audioMsOut, cost, ...counts }: UsageTotal) {
  const { account, key, model, hour, ...asTheyAre } = of;
  return {
    ...asTheyAre,
    ...(account && { accountId: account }),
    ...(key && { keyId: key }),
    ...(model && { model }),
    ...(hour && { hour }),
    ...(isRest && { rest: true }),
    ...counts,
    audioSecondsIn: Number(audioMsIn) / 1000,
    audioSecondsOut: Number(audioMsOut) / 1000,
    costNanoCredits: cost,
    cost: formatCredits(cost),
  };
}
