/** What a group finds out. */
import type { AimName } from './aims.ts';
import { least, median, most } from './statistics.ts';

/** Parley beside a yardstick. The samples of one round stand at the same place in both lists. */
export interface Comparison {
  readonly name: string;
  readonly yardstick: string;
  /** Of the samples: `µs of CPU a request`, `requests/s`. */
  readonly unit: string;
  readonly ours: readonly number[];
  readonly theirs: readonly number[];
  /** The aim that the ratio is held against, where there is one. */
  readonly aim?: AimName;
  /** False for what depends on the machine more than on Parley: it is in the table and not in the chart. Default: true. */
  readonly isCharted?: boolean;
}

/** A figure without a yardstick: context. */
export interface Fact {
  readonly name: string;
  readonly unit: string;
  readonly values: readonly number[];
}

export interface GroupResult {
  readonly comparisons: readonly Comparison[];
  readonly facts: readonly Fact[];
  /** What a reader has to know to judge the figures: what was left out, and why. */
  readonly notes: readonly string[];
}

export interface Ratio {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** Parley's through the yardstick's, of each round: a slow moment of the machine is in both. */
export function ratioOf({ ours, theirs }: Pick<Comparison, 'ours' | 'theirs'>): Ratio {
  const ratios = ours.map((value, round) => value / (theirs[round] ?? Number.NaN));
  return { median: median(ratios), least: least(ratios), most: most(ratios) };
}
