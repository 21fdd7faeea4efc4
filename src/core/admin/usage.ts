/** Usage records and their totals, and the pruning of old ones. */
import { create } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import { describeRecord, readRecordFilter } from '../account/service.ts';
import { describeTotal, readTotals } from '../account/totals.ts';
import type { AuditEntry } from '../entities/audit.ts';
import { keptMs } from '../entities/idempotency.ts';
import type { Store } from '../entities/store.ts';
import type { PruneCut, UsageStore } from '../entities/usage.ts';
import type { AccountId } from '../values/ids.ts';
import { invalid, nextPage, readPage } from '../values/parameters.ts';
import { required } from './checks.ts';

/** Records that one call removes at most, so that it ends within seconds. */
const recordsPerCallMax = 50_000;

/** @throws `invalid_parameter` */
export async function listUsageRecords(
  archive: UsageStore,
  request: pb.ListUsageRecordsRequest,
  accountId: AccountId | undefined,
): Promise<pb.ListUsageRecordsResponse> {
  const page = await archive.listRecords(readRecordFilter(request, accountId), readPage(request));
  const records = page.items.map(describeRecord);
  return create(pb.ListUsageRecordsResponseSchema, { records, ...nextPage(page) });
}

/** @throws `invalid_parameter` */
export async function getUsageTotals(
  archive: UsageStore,
  request: pb.GetUsageTotalsRequest,
  accountId: AccountId | undefined,
): Promise<pb.GetUsageTotalsResponse> {
  const totals = await readTotals(archive, request, accountId);
  return create(pb.GetUsageTotalsResponseSchema, {
    totals: totals.map((total) => ({
      ...describeTotal(total),
      ...(total.of.account !== undefined && { accountId: total.of.account }),
    })),
  });
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
