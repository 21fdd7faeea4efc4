import { least, median, most } from './statistics.ts';

export interface Ratio {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** The samples of one round stand at the same place in both lists. */
export interface Samples {
  readonly ours: readonly number[];
  readonly theirs: readonly number[];
}

/** Parley's through the yardstick's, of each round: a slow moment of the machine is in both. */
export function ratioOf({ ours, theirs }: Samples): Ratio {
  const ratios = ours.map((value, round) => value / (theirs[round] ?? Number.NaN));
  return { median: median(ratios), least: least(ratios), most: most(ratios) };
}
