/** What a group finds out. */
import type { AimName } from './aims.ts';
import type { Samples } from './ratio.ts';

/** Parley beside a yardstick. */
export interface Comparison extends Samples {
  readonly name: string;
  readonly yardstick: string;
  /** Of the samples: `µs of CPU a request`, `requests/s`. */
  readonly unit: string;
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
