/** Usage in the long run: its sums, and an end to single records. */
import type { AccountId } from '../ids.ts';
import type { NanoCredits } from '../money.ts';

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

export interface UsageArchive {
  /**
   * Sums over the records there are and those that were pruned, as of one moment, in the order of what they are grouped by. The
   * model of what was refused counts as none. `too_many` where there would be more than `totalsMax`.
   */
  usageTotals(query: TotalsQuery): Promise<readonly UsageTotal[] | 'too_many'>;
  /** What `prune` would remove. */
  countPrunable(cut: PruneCut): Promise<Prunable>;
}
