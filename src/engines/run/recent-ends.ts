/** Ends of requests count for so long. */
const recentMs = 300_000;
const endsMax = 512;

interface End {
  readonly atMs: number;
  readonly hasFailed: boolean;
  readonly firstOutputMs: number | undefined;
}

/** The requests that ended within the last 5 minutes, at most the last 512. */
export class RecentEnds {
  readonly #ends: End[] = [];
  /** Where the next end goes once there are as many as are kept. */
  #next = 0;

  add(end: End): void {
    this.#ends[this.#next] = end;
    this.#next = (this.#next + 1) % endsMax;
  }

  /** @param nowMs by the clock of the ends */
  summary(nowMs: number) {
    const recent = this.#ends.filter(({ atMs }) => atMs > nowMs - recentMs);
    const times = recent
      .flatMap(({ firstOutputMs }) => firstOutputMs ?? [])
      .sort((one, other) => one - other);
    const median = quantile(times, 0.5);
    const p95 = quantile(times, 0.95);
    return {
      ended: recent.length,
      failed: recent.filter(({ hasFailed }) => hasFailed).length,
      firstOutputMs: median === undefined || p95 === undefined ? undefined : { median, p95 },
    };
  }
}

/** The smallest of the sorted values that is not exceeded by this share of them. */
function quantile(sorted: readonly number[], share: number): number | undefined {
  return sorted[Math.ceil(sorted.length * share) - 1];
}
