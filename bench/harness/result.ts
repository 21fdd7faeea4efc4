/** A group of measurements and its result. */
import type { AimName } from './aims.ts';

export interface Setting {
  /** A short run shows that the bench works. Its figures mean nothing. */
  readonly short: boolean;
  /** Folder for installed peers. */
  readonly cacheDir: string;
  /** Reports progress on standard error. */
  say(line: string): void;
}

export interface Group {
  readonly name: string;
  readonly title: string;
  /** The contenders and the conditions, in a sentence or two. */
  readonly method: string;
  run(setting: Setting): Promise<GroupResult>;
}

/** Samples of Parley and of the yardstick. Samples of one round have the same index. */
export interface Samples {
  readonly ours: readonly number[];
  readonly theirs: readonly number[];
}

export interface Comparison extends Samples {
  readonly name: string;
  readonly yardstick: string;
  /** Unit of the samples, such as `requests/s`. */
  readonly unit: string;
  readonly aim?: AimName;
  /** False keeps it out of the chart: it depends more on the machine than on Parley. Default: true. */
  readonly isCharted?: boolean;
}

/** A figure without a yardstick. */
export interface Fact {
  readonly name: string;
  readonly unit: string;
  readonly values: readonly number[];
}

export interface GroupResult {
  readonly comparisons: readonly Comparison[];
  readonly facts: readonly Fact[];
  /** Contenders that were left out, and why. */
  readonly notes: readonly string[];
}

/** Makes a comparison of one figure of each sample. */
export function compare<Sample>(
  what: Omit<Comparison, 'ours' | 'theirs'>,
  samples: { readonly ours: readonly Sample[]; readonly theirs: readonly Sample[] },
  figure: (sample: Sample) => number,
): Comparison {
  return { ...what, ours: samples.ours.map(figure), theirs: samples.theirs.map(figure) };
}
