import type { NanoCredits } from '../billing/money.ts';
import type { AccountId, KeyId, RequestId } from '../ids.ts';
import type { AuditEntry } from './audit.ts';
import { scopes } from './keys.ts';
import type { Page, PageRequest } from './page.ts';

export type Wire = 'rest' | 'connect' | 'grpc' | 'grpc-web';

export const operations = [...scopes, 'catalog', 'account'] as const;

export type Operation = (typeof operations)[number];

export const recordStates = [
  'started',
  'ok',
  'refused',
  'failed',
  'cancelled',
  'interrupted',
  'replayed',
] as const;

export type RecordState = (typeof recordStates)[number];

/** What is known of a request when it is admitted or turned away. */
export interface RecordStart {
  readonly id: RequestId;
  readonly accountId: AccountId;
  readonly keyId: KeyId;
  readonly operation: Operation;
  readonly model: string | undefined;
  readonly wire: Wire;
  readonly startedAtMs: number;
  /** Speech: code points of input. */
  readonly characters: number | undefined;
}

/** What is known when it has ended. */
export interface RecordEnd {
  readonly state: Exclude<RecordState, 'started'>;
  readonly httpStatus: number;
  readonly code: string | undefined;
  readonly firstOutputMs: number | undefined;
  readonly durationMs: number;
  readonly audioMsIn: number | undefined;
  readonly audioMsOut: number | undefined;
  readonly tokens: TokenUsage | undefined;
  readonly fairUseUnits: number | undefined;
  /** What is debited; never more than the hold. */
  readonly cost: NanoCredits | undefined;
  /** What the tokens would have cost beyond the hold. */
  readonly overrun: NanoCredits | undefined;
}

export interface TokenUsage {
  readonly promptTokens: number;
  /** Reasoning included. */
  readonly completionTokens: number;
  readonly totalTokens: number;
  readonly source: 'reported' | 'estimated';
}

/** A request as it is stored: what has not been learnt yet, or never applies, is undefined. */
export type UsageRecord = RecordStart & {
  readonly [K in keyof RecordEnd]: K extends 'state' ? RecordState : RecordEnd[K] | undefined;
};

export interface RecordFilter {
  readonly accountId?: AccountId | undefined;
  /** Started at or after. */
  readonly fromMs?: number | undefined;
  /** Started before. */
  readonly untilMs?: number | undefined;
  readonly operation?: string | undefined;
  readonly model?: string | undefined;
  readonly state?: string | undefined;
}

export const totalDimensions = ['account', 'month', 'day', 'operation', 'model', 'state'] as const;

export type TotalDimension = (typeof totalDimensions)[number];

export interface TotalsQuery {
  /** Undefined: all accounts. */
  readonly accountId: AccountId | undefined;
  /** The first moment of a day of UTC, as is `untilMs`. Undefined: from the beginning. */
  readonly fromMs: number | undefined;
  readonly untilMs: number | undefined;
  readonly groupBy: readonly TotalDimension[];
  /** How many totals there may be at most. */
  readonly totalsMax: number;
}

export interface UsageTotal {
  /** What the sums are of, by the dimensions that were asked for. An empty model is none. */
  readonly of: Readonly<Partial<Record<TotalDimension, string>>>;
  readonly requests: bigint;
  readonly characters: bigint;
  readonly audioMsIn: bigint;
  readonly audioMsOut: bigint;
  readonly promptTokens: bigint;
  readonly completionTokens: bigint;
  readonly fairUseUnits: bigint;
  readonly cost: NanoCredits;
}

export interface PruneCut {
  /** Records of requests that started before this go. */
  readonly recordsBeforeMs: number;
  /** Answers that were kept before this go. */
  readonly answersBeforeMs: number;
}

export interface Prunable {
  readonly records: number;
  readonly answers: number;
}

export interface Pruned extends Prunable {
  /** Whether nothing is left to remove. */
  readonly isComplete: boolean;
}

/** Usage records, their totals, and how they are removed. */
export interface UsageStore {
  /** Newest first. */
  listRecords(filter: RecordFilter, page: PageRequest): Promise<Page<UsageRecord, RequestId>>;
  /**
   * Sums over the records there are and those that were pruned, as of one moment, in the order of what they are grouped by. The
   * model of what was refused counts as none. `too_many` where there would be more than `totalsMax`.
   */
  usageTotals(query: TotalsQuery): Promise<readonly UsageTotal[] | 'too_many'>;
  /** What `prune` would remove. */
  countPrunable(cut: PruneCut): Promise<Prunable>;
  /**
   * Removes records that have ended and keeps what they came to, a few at a time between the writes of requests. It stops
   * at `recordsMax`, rounded up to its next step; what it has done by then is done. Nothing removed leaves no audit entry.
   */
  prune(cut: PruneCut, recordsMax: number, audit: AuditEntry): Promise<Pruned>;
}
