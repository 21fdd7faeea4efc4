/** Usage totals, and the pruning of old usage records. */
import { create } from '@bufbuild/protobuf';
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import { keptMs } from '../billing/idempotency.ts';
import { formatCredits } from '../billing/money.ts';
import type { AccountId } from '../ids.ts';
import { invalid } from '../parameters.ts';
import type { AuditEntry } from '../ports/audit.ts';
import type { Store } from '../ports/store.ts';
import {
  type PruneCut,
  type TotalDimension,
  type TotalsQuery,
  totalDimensions,
  type UsageStore,
  type UsageTotal,
} from '../ports/usage.ts';
import { required } from './checks.ts';

const dayMs = 86_400_000;
const totalsMax = 10_000;
/** Records that one call removes at most, so that it ends within seconds. */
const recordsPerCallMax = 50_000;

type TotalsRequest = Pick<pb.GetUsageTotalsRequest, 'startTime' | 'endTime' | 'groupBy' | 'keyId'>;

/** @throws `invalid_parameter` */
export async function totalsOfUsage(
  archive: UsageStore,
  request: TotalsRequest,
  accountId: AccountId | undefined,
): Promise<pb.UsageTotal[]> {
  const query: TotalsQuery = {
    accountId,
    keyId: request.keyId,
    fromMs: firstOfDay('start_time', request.startTime),
    untilMs: firstOfDay('end_time', request.endTime),
    groupBy: readDimensions(request.groupBy),
    totalsMax,
  };
  const totals = await archive.usageTotals(query);
  if (totals === 'too_many') {
    const message = `There would be more than ${totalsMax} totals. Group by less, or ask for fewer days or one account.`;
    throw invalid('group_by', message);
  }
  return totals.map(describeTotal);
}

/** @param audit makes the audit entry for records from before a time. @throws `invalid_parameter` */
export async function pruneUsageRecords(
  archive: Pick<Store, 'countPrunable' | 'prune'>,
  request: pb.PruneUsageRecordsRequest,
  nowMs: number,
  audit: (details: AuditEntry['details']) => AuditEntry,
): Promise<pb.PruneUsageRecordsResponse> {
  const recordsBeforeMs = timestampMs(required('before', request.before));
  if (recordsBeforeMs > nowMs) throw invalid('before', '`before` must not be in the future.');
  const cut: PruneCut = { recordsBeforeMs, answersBeforeMs: nowMs - keptMs };
  if (request.dryRun) {
    const { records, answers } = await archive.countPrunable(cut);
    return describePruned(records, answers, records + answers === 0);
  }
  const entry = audit({ before: new Date(recordsBeforeMs).toISOString() });
  const { records, answers, isComplete } = await archive.prune(cut, recordsPerCallMax, entry);
  return describePruned(records, answers, isComplete);
}

function describePruned(records: number, answers: number, complete: boolean): pb.PruneUsageRecordsResponse {
  return create(pb.PruneUsageRecordsResponseSchema, {
    recordsRemoved: BigInt(records),
    answersRemoved: BigInt(answers),
    complete,
  });
}

/** Totals of pruned records are kept by the day, so a range has to consist of whole days. */
function firstOfDay(param: string, time: Timestamp | undefined): number | undefined {
  if (time === undefined) return undefined;
  const ms = timestampMs(time);
  if (ms >= 0 && ms % dayMs === 0 && time.nanos === 0) return ms;
  throw invalid(
    param,
    `\`${param}\` must be the first moment of a day in UTC, such as 2026-11-01T00:00:00Z.`,
  );
}

function readDimensions(names: readonly string[]): TotalDimension[] {
  return [...new Set(names)].map((name) => {
    const dimension = totalDimensions.find((known) => known === name);
    if (dimension !== undefined) return dimension;
    throw invalid('group_by', `\`group_by\` takes ${totalDimensions.join(', ')}.`);
  });
}

function describeTotal({ of, ...sums }: UsageTotal): pb.UsageTotal {
  const { account, key, model, ...asTheyAre } = of;
  const { requests, characters, promptTokens, completionTokens, fairUseUnits, cost } = sums;
  return create(pb.UsageTotalSchema, {
    ...asTheyAre,
    ...(account !== undefined && { accountId: account }),
    ...(key && { keyId: key }),
    ...(model && { model }),
    ...{ requests, characters, promptTokens, completionTokens, fairUseUnits },
    audioSecondsIn: Number(sums.audioMsIn) / 1000,
    audioSecondsOut: Number(sums.audioMsOut) / 1000,
    costNanoCredits: cost,
    cost: formatCredits(cost),
  });
}
