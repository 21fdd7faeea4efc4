/** Usage records and their totals, and the pruning of old ones. */
import { timestampMs } from '@bufbuild/protobuf/wkt';
import type * as ownPb from '../../../gen/parley/account/v1/account_pb.ts';
import type * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import { type AccountRequest, accountToRead } from '../access/account-of-call.ts';
import type { AdminCall, AnyCall } from '../access/call.ts';
import { keptMs } from '../entities/idempotency.ts';
import { type PruneCut, totalDimensions } from '../entities/usage.ts';
import type { AccountId } from '../values/ids.ts';
import { invalid, nextPage, readPage } from '../values/parameters.ts';
import { required } from './checks.ts';
import { type AccountsDeps, audit } from './deps.ts';
import { describeRecord, readRecordFilter } from './records.ts';
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
