/** Usage records and their totals, and the pruning of old ones. */
import { create } from '@bufbuild/protobuf';
import { type Timestamp, timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import {
  EngineAttemptSchema,
  type GetUsageTotalsRequest,
  type ListUsageRecordsRequest,
  ReachedLimitSchema,
  type UsageRecord as UsageRecordMessage,
  UsageRecordSchema,
} from '../../../gen/parley/account/v1/account_pb.ts';
import type { PruneUsageRecordsRequest } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { type AccountRequest, accountToRead, audit } from '../access/account-of-call.ts';
import type { AdminCall, AnyCall } from '../access/call.ts';
import { keptMs } from '../entities/idempotency.ts';
import {
  operations,
  ownDimensions,
  type PruneCut,
  type RecordFilter,
  recordDimensions,
  recordStates,
  type Top,
  type TotalDimension,
  type TotalsQuery,
  topDimensions,
  topMeasures,
  totalDimensions,
  type UsageRecord,
  type UsageStore,
  type UsageTotal,
} from '../entities/usage.ts';
import { bounds, isWithin } from '../values/bounds.ts';
import { type AccountId, isRequestId } from '../values/ids.ts';
import { present } from '../values/json.ts';
import { formatCredits } from '../values/money.ts';
import { invalid, nextPage, readOneOf, readPage } from '../values/parameters.ts';
import { required } from './checks.ts';
import type { AccountsDeps } from './deps.ts';

/** Maximum number of records that one call removes, so that it ends within seconds. */
const recordsPerCallMax = 50_000;

export function usageFunctions(deps: AccountsDeps) {
  const { store, accessClock } = deps;
  return {
    async listUsageRecords(request: ListUsageRecordsRequest, call: AnyCall) {
      const accountId = await filteredAccount(deps, request, call);
      const page = await store.usage.list(
        { ...readRecordFilter(request, accountId), signal: call.signal },
        readPage(request),
      );
      return { records: page.items.map(describeRecord), ...nextPage(page) };
    },

    async getUsageTotals(request: GetUsageTotalsRequest, call: AnyCall) {
      const accountId = await filteredAccount(deps, request, call);
      const known = 'caller' in call ? ownDimensions : totalDimensions;
      const totals = await readTotals(store.usage, request, { accountId, signal: call.signal }, known);
      return { totals: totals.map(describeTotal) };
    },

    async pruneUsageRecords(request: PruneUsageRecordsRequest, call: AdminCall) {
      const nowMs = accessClock.now();
      const recordsBeforeMs = timestampMs(required('before', request.before));
      if (recordsBeforeMs > nowMs) throw invalid('before', '`before` must not be in the future.');
      const cut: PruneCut = { recordsBeforeMs, answersBeforeMs: nowMs - keptMs };
      if (request.dryRun) {
        const { records, answers } = await store.usage.countPrunable(cut);
        return pruned(records, answers, records + answers === 0);
      }
      const before = new Date(recordsBeforeMs).toISOString();
      const entry = audit(deps, call, 'usage.prune', 'usage', { before });
      const { records, answers, isComplete } = await store.usage.prune(cut, recordsPerCallMax, entry);
      return pruned(records, answers, isComplete);
    },
  };
}

/** Undefined if an administrator asks for all accounts. */
async function filteredAccount(
  deps: AccountsDeps,
  request: AccountRequest,
  call: AnyCall,
): Promise<AccountId | undefined> {
  if (!('caller' in call) && request.accountId === undefined) return undefined;
  return (await accountToRead(deps, request, call)).id;
}

function pruned(records: number, answers: number, complete: boolean) {
  return { recordsRemoved: BigInt(records), answersRemoved: BigInt(answers), complete };
}

/** @param accountId undefined: all accounts. @throws `invalid_parameter` for an unknown operation or state, and for a blank model */
function readRecordFilter(request: ListUsageRecordsRequest, accountId: AccountId | undefined): RecordFilter {
  const { startTime, endTime, operation, model, state, id, keyId } = request;
  const { code, engine, httpStatus, endUser, tag } = request;
  readOneOf('operation', operation, operations);
  readOneOf('state', state, recordStates);
  if (id !== undefined && !isRequestId(id)) {
    throw invalid('id', '`id` is not the id of a request. It is the `x-request-id` of its answer.');
  }
  if (model?.trim() === '') throw invalid('model', '`model` is blank. Send an id, or leave it out.');
  const times = { fromMs: startTime && timestampMs(startTime), untilMs: endTime && timestampMs(endTime) };
  const ended = { code, engine, httpStatus, endUser, tag };
  return { accountId, keyId, ...times, operation, model, state, id, ...ended };
}

function describeRecord({ tokens, cause, tags, live: _, ...record }: UsageRecord): UsageRecordMessage {
  const { startedAtMs, audioMsIn, audioMsOut, fairUseUnits, cost, overrun, reserved, ...same } = record;
  const { source: tokensSource, ...counts } = tokens ?? {};
  const { returnedUnits, attempts, limit } = cause ?? {};
  return create(
    UsageRecordSchema,
    present({
      ...same,
      ...counts,
      tokensSource,
      startedAt: timestampFromMs(startedAtMs),
      audioSecondsIn: seconds(audioMsIn),
      audioSecondsOut: seconds(audioMsOut),
      fairUseUnits: fairUseUnits === undefined ? undefined : BigInt(fairUseUnits),
      costNanoCredits: cost,
      overrunNanoCredits: overrun,
      tags: tags?.split(','),
      reservedNanoCredits: reserved,
      returnedUnits: returnedUnits === undefined ? undefined : BigInt(returnedUnits),
      attempts: attempts?.map((attempt) => create(EngineAttemptSchema, present(attempt))),
      limit: limit && create(ReachedLimitSchema, present(limit)),
    }),
  );
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}

const dayMs = 86_400_000;
const totalsMax = 10_000;
/** Totals by hour read the records of all their hours, as stored sums are of days. */
const hoursMs = 2 * dayMs;
/** The same of the other values that only records have. */
const causesMs = 31 * dayMs;

/**
 * @param accountId undefined: all accounts
 * @param known the dimensions that the caller may group by
 * @throws `invalid_parameter`
 */
async function readTotals(
  store: UsageStore,
  request: GetUsageTotalsRequest,
  part: Pick<TotalsQuery, 'accountId' | 'signal'>,
  known: readonly TotalDimension[],
): Promise<readonly UsageTotal[]> {
  const groupBy = readDimensions(request.groupBy, known);
  const fromMs = firstOfDay('start_time', request.startTime);
  const untilMs = firstOfDay('end_time', request.endTime);
  checkRange(groupBy, (untilMs ?? Infinity) - (fromMs ?? 0));
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
  const message = `There would be more than ${totalsMax} totals. Ask for the largest accounts, keys or end users with \`top\`, group by less, or request fewer days.`;
  throw invalid('group_by', message);
}

function checkRange(groupBy: readonly TotalDimension[], rangeMs: number): void {
  for (const name of recordDimensions.filter((one) => groupBy.includes(one))) {
    const [mostMs, most] = name === 'hour' ? [hoursMs, 'two'] : [causesMs, '31'];
    if (rangeMs <= mostMs) continue;
    const message = `\`${name}\` in \`group_by\` needs a \`start_time\` and an \`end_time\` that are at most ${most} days apart.`;
    throw invalid('group_by', message);
  }
}

function readTop({ top, topBy }: GetUsageTotalsRequest, groupBy: readonly TotalDimension[]): Top | undefined {
  const by = readOneOf('top_by', topBy, topMeasures) ?? 'requests';
  if (top === undefined) return undefined;
  if (!isWithin(top, bounds.top)) throw invalid('top', `\`top\` must be from 1 to ${bounds.top.maximum}.`);
  const [dimension, other] = topDimensions.filter((name) => groupBy.includes(name));
  if (dimension !== undefined && other === undefined) return { dimension, by, size: top };
  throw invalid('top', '`top` needs either `account`, `key` or `end_user` in `group_by`.');
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
function describeTotal({ of, isRest, audioMsIn, audioMsOut, cost, ...counts }: UsageTotal) {
  const named: UsageTotal['of'] = Object.fromEntries(Object.entries(of).filter(([, value]) => value !== ''));
  const { account: accountId, key: keyId, end_user: endUser, http_status: status, tags, ...others } = named;
  const httpStatus = status === undefined ? undefined : Number(status);
  return {
    ...others,
    ...present({ accountId, keyId, endUser, httpStatus, tags: tags?.split(',') }),
    ...(isRest && { rest: true }),
    ...counts,
    audioSecondsIn: Number(audioMsIn) / 1000,
    audioSecondsOut: Number(audioMsOut) / 1000,
    costNanoCredits: cost,
    cost: formatCredits(cost),
  };
}
