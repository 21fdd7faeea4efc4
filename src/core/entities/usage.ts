import { errorTable, type ReachedLimit } from '../values/errors.ts';
import type { AccountId, KeyId, RequestId } from '../values/ids.ts';
import type { NanoCredits, TokenCounts } from '../values/money.ts';
import type { Page, PageRequest } from '../values/parameters.ts';
import type { Signal } from '../values/signal.ts';
import type { AuditEntry } from './audit.ts';
import { scopes } from './key.ts';

export type Wire = 'rest' | 'connect' | 'grpc' | 'grpc-web' | 'websocket';

/** `admin` is an admin path that refuses an account's key; `none` is an unknown path or method. */
export const operations = [...scopes, 'catalog', 'account', 'admin', 'none'] as const;

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

export const recordCodes: readonly string[] = [...Object.keys(errorTable), 'deadline_exceeded'].sort();

export interface RecordStart {
  readonly id: RequestId;
  readonly accountId: AccountId;
  readonly keyId: KeyId;
  readonly operation: Operation;
  readonly model: string | undefined;
  readonly wire: Wire;
  readonly startedAtMs: number;
  /** Code points of speech input. */
  readonly characters: number | undefined;
  readonly endUser?: string | undefined;
  /** In alphabetical order, separated by commas. */
  readonly tags?: string | undefined;
  /** Set for live speech: these last as long as somebody speaks. Not stored. */
  readonly live?: 'session' | 'turn' | undefined;
}

export interface RecordEnd {
  readonly state: Exclude<RecordState, 'started'>;
  /** The model that answered, if it is not that of the start. Default: that of the start. */
  readonly model?: string | undefined;
  readonly httpStatus: number;
  readonly code: string | undefined;
  readonly firstOutputMs: number | undefined;
  readonly durationMs: number;
  readonly audioMsIn: number | undefined;
  readonly audioMsOut: number | undefined;
  readonly tokens: TokenUsage | undefined;
  readonly fairUseUnits: number | undefined;
  /** The price of the tokens; in a stored record, the part that was debited. */
  readonly cost: NanoCredits | undefined;
  /** The price beyond the hold, the available credits and the budgets. Only the store knows it. */
  readonly overrun: NanoCredits | undefined;
  /** The engine that answered, or the last one that was tried. */
  readonly engine?: string | undefined;
  /** Credits that were held for the request. */
  readonly reserved?: NanoCredits | undefined;
  readonly cause?: RecordCause | undefined;
}

/** The start of a request as its record has it at the end: with the model that answered. */
export function answered<Start extends Pick<RecordStart, 'model'>>(
  start: Start,
  { model }: RecordEnd,
): Start {
  return model === undefined ? start : { ...start, model };
}

/** Why a request failed, was refused or moved to another engine. */
export interface RecordCause {
  /** The engines that worked on it, in their order, if one of them failed. */
  readonly attempts?: readonly RecordedAttempt[] | undefined;
  readonly limit?: RecordedLimit | undefined;
  /** Units of fair use that were reserved and not spent. */
  readonly returnedUnits?: number | undefined;
}

export interface RecordedAttempt {
  readonly engine: string;
  /** Undefined if all attempts were for one model. */
  readonly model?: string | undefined;
  /** The code of its error; undefined if it has answered. */
  readonly code?: string | undefined;
  /** The HTTP status of the upstream, and its name of the error. */
  readonly upstreamStatus?: number | undefined;
  readonly upstreamCode?: string | undefined;
  readonly firstOutputMs?: number | undefined;
  readonly durationMs?: number | undefined;
}

export interface RecordedLimit extends Omit<ReachedLimit, 'owner'> {
  readonly owner: 'account' | 'key' | 'end_user';
}

export interface TokenUsage extends TokenCounts {
  readonly totalTokens: number;
  readonly source: 'reported' | 'estimated';
}

/** A stored request. Facts that are unknown or do not apply are undefined. */
export type UsageRecord = RecordStart & {
  readonly [K in keyof RecordEnd]: K extends 'state' ? RecordState : RecordEnd[K] | undefined;
};

export interface RecordFilter {
  readonly accountId?: AccountId | undefined;
  readonly keyId?: string | undefined;
  /** Earliest start, inclusive. */
  readonly fromMs?: number | undefined;
  /** Latest start, exclusive. */
  readonly untilMs?: number | undefined;
  readonly operation?: string | undefined;
  readonly model?: string | undefined;
  readonly state?: string | undefined;
  readonly code?: string | undefined;
  readonly engine?: string | undefined;
  readonly httpStatus?: number | undefined;
  readonly endUser?: string | undefined;
  readonly tag?: string | undefined;
  readonly id?: RequestId | undefined;
  readonly signal?: Signal | undefined;
}

export const totalDimensions = [
  'account',
  'key',
  'month',
  'day',
  'hour',
  'operation',
  'model',
  'state',
  'code',
  'engine',
  'http_status',
  'end_user',
  'tags',
] as const;

/** Dimensions that only records have: stored sums count under an empty value once their records are pruned. */
export const recordDimensions = ['hour', 'code', 'engine', 'http_status', 'end_user', 'tags'] as const;

export type TotalDimension = (typeof totalDimensions)[number];

/** Dimensions for a key of an account, whose requests are all of that account. */
export const ownDimensions = totalDimensions.filter((dimension) => dimension !== 'account');

export const topMeasures = [
  'requests',
  'cost',
  'tokens',
  'cached_tokens',
  'characters',
  'audio_seconds_in',
] as const;

export const topDimensions = ['account', 'key', 'end_user'] as const;

/** The largest accounts, keys or end users. All others are summed together. */
export interface Top {
  readonly dimension: (typeof topDimensions)[number];
  readonly by: (typeof topMeasures)[number];
  readonly size: number;
}

export interface TotalsQuery {
  /** Undefined: all accounts. */
  readonly accountId: AccountId | undefined;
  readonly keyId?: string | undefined;
  readonly fromMs: number | undefined;
  readonly untilMs: number | undefined;
  readonly groupBy: readonly TotalDimension[];
  readonly totalsMax: number;
  /** Default: all accounts and keys have totals of their own. */
  readonly top?: Top | undefined;
  readonly signal?: Signal | undefined;
}

export interface UsageTotal {
  /** The value of each dimension in `groupBy`. The model is empty for requests without one, a value of `recordDimensions` for pruned records. */
  readonly of: Readonly<Partial<Record<TotalDimension, string>>>;
  /** The sum of all but the largest, whose account or key is empty. Default: false. */
  readonly isRest?: boolean;
  readonly requests: bigint;
  readonly characters: bigint;
  readonly audioMsIn: bigint;
  readonly audioMsOut: bigint;
  readonly promptTokens: bigint;
  readonly cachedTokens: bigint;
  readonly cacheWriteTokens: bigint;
  readonly completionTokens: bigint;
  readonly fairUseUnits: bigint;
  readonly cost: NanoCredits;
}

export interface PruneCut {
  /** Records of requests that started earlier are removed. */
  readonly recordsBeforeMs: number;
  /** Older stored answers are removed. */
  readonly answersBeforeMs: number;
}

export interface EndUserCut {
  /** Where the last step ended. The first one starts at `usr_`. */
  readonly after: string;
  /** Counts of days and months that began earlier are removed. */
  readonly beforeMs: number;
}

export interface Prunable {
  readonly records: number;
  readonly answers: number;
}

export interface Pruned extends Prunable {
  /** Whether nothing is left to remove. */
  readonly isComplete: boolean;
}

export interface UsageStore {
  /** Newest first. */
  list(filter: RecordFilter, page: PageRequest): Promise<Page<UsageRecord, RequestId>>;
  /**
   * Sums over all records at one moment, including pruned ones, in the order of the grouped values. Refused requests
   * count as requests without a model. `too_many` if there are more totals than `totalsMax`, or more than 250,000 accounts,
   * keys or end users to compare.
   */
  totals(query: TotalsQuery): Promise<readonly UsageTotal[] | 'too_many'>;
  countPrunable(cut: PruneCut): Promise<Prunable>;
  /**
   * Removes ended records and keeps their sums, in small transactions between the writes of requests. Stops after
   * `recordsMax` records, rounded up to its step. Writes the audit entry if it removes anything.
   */
  prune(cut: PruneCut, recordsMax: number, audit: AuditEntry): Promise<Pruned>;
  /** Removes old counts of the next end users. Returns the place to go on from, or undefined at the end. */
  pruneEndUsers(cut: EndUserCut): Promise<string | undefined>;
}

/** Observes requests for metrics. Runs within each request, so it must be fast and must not throw. */
export interface RequestObserver {
  /** A request with a valid key has arrived. */
  began(start: RecordStart): void;
  /** The request holds credits. */
  held(amount: NanoCredits): void;
  /** The request has ended and its record is written. `held` is the released hold. */
  ended(start: RecordStart, end: RecordEnd, held: NanoCredits | undefined): void;
  /** A turn of live speech has its text, this long after its last audio. */
  recognised(delayMs: number): void;
  /** A request without a valid key was refused. */
  refusedKey(wire: Wire): void;
}
