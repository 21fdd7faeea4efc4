/** Usage records and their totals, and the pruning of old ones. */
import { create } from '@bufbuild/protobuf';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import type * as ownPb from '../../../gen/parley/account/v1/account_pb.ts';
import {
  type ListUsageRecordsRequest,
  type UsageRecord as UsageRecordMessage,
  UsageRecordSchema,
} from '../../../gen/parley/account/v1/account_pb.ts';
import type * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import { type AccountRequest, accountToRead } from '../access/account-of-call.ts';
import type { AdminCall, AnyCall } from '../access/call.ts';
import { keptMs } from '../entities/idempotency.ts';
import {
  operations,
  type PruneCut,
  type RecordFilter,
  recordStates,
  totalDimensions,
  type UsageRecord,
} from '../entities/usage.ts';
import { type AccountId, isRequestId } from '../values/ids.ts';
import { invalid, nextPage, readOneOf, readPage } from '../values/parameters.ts';
import { present } from '../values/present.ts';
import { required } from './checks.ts';
import { type AccountsDeps, audit } from './deps.ts';
import { describeTotal, readTotals } from './totals.ts';

/** Maximum number of records that one call removes, so that it ends within seconds. */
const recordsPerCallMax = 50_000;

const ownDimensions = totalDimensions.filter((dimension) => dimension !== 'account');

export function usageFunctions(deps: AccountsDeps) {
  const { store, accessClock } = deps;
  return {
    async listUsageRecords(
      request: pb.ListUsageRecordsRequest | ownPb.ListUsageRecordsRequest,
      call: AnyCall,
    ) {
      const accountId = await filteredAccount(deps, request, call);
      const page = await store.usage.list(
        { ...readRecordFilter(request, accountId), signal: call.signal },
        readPage(request),
      );
      return { records: page.items.map(describeRecord), ...nextPage(page) };
    },

    async getUsageTotals(request: pb.GetUsageTotalsRequest | ownPb.GetUsageTotalsRequest, call: AnyCall) {
      const accountId = await filteredAccount(deps, request, call);
      const known = 'caller' in call ? ownDimensions : totalDimensions;
      return {
        totals: (await readTotals(store.usage, request, { accountId, signal: call.signal }, known)).map(
          describeTotal,
        ),
      };
    },

    async pruneUsageRecords(request: pb.PruneUsageRecordsRequest, call: AdminCall) {
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

type RecordFilterRequest = Pick<
  ListUsageRecordsRequest,
  'startTime' | 'endTime' | 'operation' | 'model' | 'state' | 'id' | 'keyId'
>;

/** @param accountId undefined: all accounts. @throws `invalid_parameter` for an unknown operation or state, and for a blank model */
function readRecordFilter(request: RecordFilterRequest, accountId: AccountId | undefined): RecordFilter {
  const { startTime, endTime, operation, model, state, id, keyId } = request;
  readOneOf('operation', operation, operations);
  readOneOf('state', state, recordStates);
  if (id !== undefined && !isRequestId(id)) {
    throw invalid('id', '`id` is not the id of a request. It is the `x-request-id` of its answer.');
  }
  if (model?.trim() === '') throw invalid('model', '`model` is blank. Send an id, or leave it out.');
  return {
    accountId,
    keyId,
    fromMs: startTime && timestampMs(startTime),
    untilMs: endTime && timestampMs(endTime),
    operation,
    model,
    state,
    id,
  };
}

function describeRecord(record: UsageRecord): UsageRecordMessage {
  const { tokens } = record;
  return create(
    UsageRecordSchema,
    present({
      id: record.id,
      accountId: record.accountId,
      keyId: record.keyId,
      operation: record.operation,
      model: record.model,
      wire: record.wire,
      state: record.state,
      httpStatus: record.httpStatus,
      code: record.code,
      startedAt: timestampFromMs(record.startedAtMs),
      firstOutputMs: record.firstOutputMs,
      durationMs: record.durationMs,
      audioSecondsIn: seconds(record.audioMsIn),
      audioSecondsOut: seconds(record.audioMsOut),
      characters: record.characters,
      promptTokens: tokens?.promptTokens,
      cachedTokens: tokens?.cachedTokens,
      cacheWriteTokens: tokens?.cacheWriteTokens,
      completionTokens: tokens?.completionTokens,
      totalTokens: tokens?.totalTokens,
      tokensSource: tokens?.source,
      fairUseUnits: record.fairUseUnits === undefined ? undefined : BigInt(record.fairUseUnits),
      costNanoCredits: record.cost,
      overrunNanoCredits: record.overrun,
    }),
  );
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}
