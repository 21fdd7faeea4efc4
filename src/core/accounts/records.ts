/** Usage records, in the form in which holders and operators request and see them. */
import { create } from '@bufbuild/protobuf';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import {
  type ListUsageRecordsRequest,
  type UsageRecord as UsageRecordMessage,
  UsageRecordSchema,
} from '../../../gen/parley/account/v1/account_pb.ts';
import { operations, type RecordFilter, recordStates, type UsageRecord } from '../entities/usage.ts';
import { type AccountId, isRequestId } from '../values/ids.ts';
import { invalid, readOneOf } from '../values/parameters.ts';
import { present } from '../values/present.ts';

type RecordFilterRequest = Pick<
  ListUsageRecordsRequest,
  'startTime' | 'endTime' | 'operation' | 'model' | 'state' | 'id' | 'keyId'
>;

/** @param accountId undefined: all accounts. @throws `invalid_parameter` for an unknown operation or state, and for a blank model */
export function readRecordFilter(
  request: RecordFilterRequest,
  accountId: AccountId | undefined,
): RecordFilter {
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

export function describeRecord(record: UsageRecord): UsageRecordMessage {
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
