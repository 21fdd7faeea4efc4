/** A group of measurements and its result. */
import type { AimName } from './aims.ts';
import type { Slice } from './drive.ts';
import type { Program } from './needs.ts';

export interface RunningPeer {
  readonly name: string;
  readonly pid: number;
  readonly origin: string;
  readonly key: string;
  readonly model: string;
}

export interface Setting {
  /** A short run shows that the bench works. Its figures mean nothing. */
  readonly short: boolean;
  /** A quick run has no peers, and fewer rounds and numbers of connections. */
  readonly quick: boolean;
  /** Folder for installed peers. */
  readonly cacheDir: string;
  /** Servers that the caller has started, to be measured as peers of chat. */
  readonly peers: readonly RunningPeer[];
  /** The port of the chat model. Default: a free one */
  readonly upstreamPort?: number | undefined;
  /** Reports progress on standard error. */
  say(line: string): void;
}

export interface Group {
  readonly name: string;
  readonly title: string;
  /** The contenders and the conditions, in a sentence or two. */
  readonly method: string;
  readonly charts: readonly Chart[];
  /** Without them the group is left out. */
  readonly needs?: readonly Program[];
  run(setting: Setting): Promise<GroupResult>;
}

/** A chart answers one question. Its bars are the comparisons that name it. */
export interface Chart {
  /** Name of its file, without `.svg`. */
  readonly name: string;
  readonly question: string;
}

/** Samples of Parley and of the yardstick. Samples of one round have the same index. */
export interface Samples {
  readonly ours: readonly number[];
  readonly theirs: readonly number[];
}

export interface Comparison extends Samples {
  readonly name: string;
  /** Default: Parley. */
  readonly who?: string;
  readonly yardstick: string;
  /** Unit of the samples, such as `requests/s`. */
  readonly unit: string;
  readonly aim?: AimName;
  /** The chart that shows it, and the label of its bar. */
  readonly chart?: { readonly name: string; readonly label: string };
}

/** A figure without a yardstick. */
export interface Fact {
  readonly name: string;
  readonly unit: string;
  readonly values: readonly number[];
  readonly aim?: AimName;
}

/** The CPU of a server by kind of thread. */
export interface ThreadCosts {
  readonly name: string;
  readonly slices: readonly Slice[];
}

/** The CPU of each contender by kind of thread. */
export const threadsOf = (name: string, slices: Readonly<Record<string, readonly Slice[]>>): ThreadCosts[] =>
  Object.entries(slices).map(([who, each]) => ({ name: `${name}: ${who}`, slices: each }));

export interface GroupResult {
  readonly comparisons: readonly Comparison[];
  readonly facts: readonly Fact[];
  readonly threads?: readonly ThreadCosts[];
  /** Contenders that were left out, and why. */
  readonly notes: readonly string[];
  readonly hasFailed?: boolean;
}

/** Makes a comparison of one figure of each sample. */
export function compare<Sample>(
  what: Omit<Comparison, 'ours' | 'theirs'>,
  samples: { readonly ours: readonly Sample[]; readonly theirs: readonly Sample[] },
  figure: (sample: Sample) => number,
): Comparison {
  return { ...what, ours: samples.ours.map(figure), theirs: samples.theirs.map(figure) };
}

/** Whether a larger figure is the better one. */
export const isMoreBetter = (unit: string): boolean => /(\/s| a second)$/.test(unit);
