import { create } from '@bufbuild/protobuf';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import {
  type Account as AccountMessage,
  AccountSchema,
  type GetAccountRequest,
  type GetAccountResponse,
  GetAccountResponseSchema,
  type GetUsageTotalsRequest,
  type GetUsageTotalsResponse,
  GetUsageTotalsResponseSchema,
  type ListLedgerEntriesRequest,
  type ListLedgerEntriesResponse,
  ListLedgerEntriesResponseSchema,
  type ListUsageRecordsRequest,
  type ListUsageRecordsResponse,
  ListUsageRecordsResponseSchema,
  type UsageRecord as UsageRecordMessage,
  UsageRecordSchema,
} from '../../../gen/parley/account/v1/account_pb.ts';
import type { Call } from '../access/call.ts';
import { type FairUseRules, unitsPerMonth } from '../billing/fair-use.ts';
import type { Account } from '../entities/account.ts';
import type { Store } from '../entities/store.ts';
import { entitlementAt } from '../entities/subscription.ts';
import {
  operations,
  type RecordFilter,
  recordStates,
  totalDimensions,
  type UsageRecord,
} from '../entities/usage.ts';
import { countsOf, describeCount, describeLimits } from '../limits/messages.ts';
import type { Clock } from '../values/clock.ts';
import { ParleyError } from '../values/errors.ts';
import { type AccountId, isRequestId } from '../values/ids.ts';
import { formatCredits } from '../values/money.ts';
import { monthOf, nextMonthMs } from '../values/month.ts';
import { checkOneOf, invalid, nextPage, readPage } from '../values/parameters.ts';
import { describeEntry } from './ledger-entry.ts';
import { describeTotal, readTotals } from './totals.ts';

export interface AccountDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** The time by which keys and subscriptions end. */
  readonly accessClock: Clock;
  readonly fairUse: FairUseRules;
}

/** All but the account. */
const ownDimensions = totalDimensions.filter((dimension) => dimension !== 'account');

/** Implements AccountService. */
export class AccountOperations {
  readonly #deps: AccountDeps;

  constructor(deps: AccountDeps) {
    this.#deps = deps;
  }

  async getAccount(_request: GetAccountRequest, call: Call): Promise<GetAccountResponse> {
    const account = await this.#deps.store.findAccount(call.caller.account.id);
    // An account is never removed.
    if (account === undefined) throw new ParleyError('internal_error');
    return create(GetAccountResponseSchema, { account: await describeAccount(account, this.#deps) });
  }

  async listUsageRecords(request: ListUsageRecordsRequest, call: Call): Promise<ListUsageRecordsResponse> {
    const page = await this.#deps.store.listRecords(
      readRecordFilter(request, call.caller.account.id),
      readPage(request),
    );
    return create(ListUsageRecordsResponseSchema, {
      records: page.items.map(describeRecord),
      ...nextPage(page),
    });
  }

  async getUsageTotals(request: GetUsageTotalsRequest, call: Call): Promise<GetUsageTotalsResponse> {
    const totals = await readTotals(this.#deps.store, request, call.caller.account.id, ownDimensions);
    return create(GetUsageTotalsResponseSchema, { totals: totals.map(describeTotal) });
  }

  async listLedgerEntries(request: ListLedgerEntriesRequest, call: Call): Promise<ListLedgerEntriesResponse> {
    const page = await this.#deps.store.listEntries(call.caller.account.id, readPage(request));
    const entries = page.items.map(describeEntry);
    return create(ListLedgerEntriesResponseSchema, { entries, ...nextPage(page) });
  }
}

type RecordFilterRequest = Pick<
  ListUsageRecordsRequest,
  'startTime' | 'endTime' | 'operation' | 'model' | 'state' | 'id' | 'keyId'
>;

/** @throws `invalid_parameter` for an unknown operation or state, and for a blank model */
export function readRecordFilter(
  request: RecordFilterRequest,
  accountId: AccountId | undefined,
): RecordFilter {
  const { startTime, endTime, operation, model, state, id, keyId } = request;
  checkOneOf('operation', operation, operations);
  checkOneOf('state', state, recordStates);
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

/** An account as its holder and its operator see it. */
export async function describeAccount(account: Account, deps: AccountDeps): Promise<AccountMessage> {
  const nowMs = deps.clock.now();
  const entitlement = entitlementAt(account.subscription, deps.accessClock.now());
  const counts = countsOf(account.id, account.limits, nowMs);
  const taken = counts.length === 0 ? [] : await deps.store.taken(counts);
  const period = entitlement.state === 'none' ? undefined : entitlement.period;
  return create(AccountSchema, {
    id: account.id,
    name: account.name,
    createdAt: timestampFromMs(account.createdAtMs),
    subscription: {
      state: entitlement.state,
      ...(period && {
        startedAt: timestampFromMs(period.startsAtMs),
        endsAt: timestampFromMs(period.endsAtMs),
      }),
    },
    balanceNanoCredits: account.balance,
    balance: formatCredits(account.balance),
    heldNanoCredits: account.held,
    ...(account.suspendedAtMs !== undefined && { suspendedAt: timestampFromMs(account.suspendedAtMs) }),
    ...(account.deletedAtMs !== undefined && { deletedAt: timestampFromMs(account.deletedAtMs) }),
    ...(account.limits && { limits: describeLimits(account.limits) }),
    limitCounts: counts.map((count, at) => describeCount(count, taken[at] ?? 0n, nowMs)),
    fairUse: {
      limitUnits: BigInt(unitsPerMonth(deps.fairUse, entitlement)),
      usedUnits: BigInt(await deps.store.fairUseUnits(account.id, monthOf(nowMs))),
      resetsAt: timestampFromMs(nextMonthMs(nowMs)),
    },
  });
}

export function describeRecord(record: UsageRecord): UsageRecordMessage {
  const { tokens } = record;
  return create(
    UsageRecordSchema,
    withoutAbsent({
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

type Present<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** Drops undefined members: a message's initialiser does not take them. */
function withoutAbsent<T extends object>(members: T): Partial<Present<T>> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Partial<
    Present<T>
  >;
}
