import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client';
import type { MetricsSnapshot } from './metrics.ts';

/**
 * The metrics of several processes as one: counts and amounts are added up. What a process had counted when it was last asked
 * stays in the sums after its end, so that none of them goes back.
 */
export class MetricsOfAll {
  readonly #own = new Registry();
  /** The last that each running process has told, by its number. */
  readonly #last = new Map<number, MetricsSnapshot>();
  #gone: MetricsSnapshot = [];
  #leaving = Promise.resolve();

  constructor() {
    // This process has memory, CPU and an event loop, too.
    collectDefaultMetrics({ register: this.#own });
  }

  /** Takes what a running process tells, under a number that no other process has had. Until it tells more, this stands. */
  note(process: number, snapshot: MetricsSnapshot): void {
    this.#last.set(process, snapshot);
  }

  async text(): Promise<string> {
    const own = await this.#own.getMetricsAsJSON();
    return sum([own, this.#gone, ...this.#last.values()]).metrics();
  }

  /** A process has ended: nothing is to be noted of it any more. */
  ended(process: number): Promise<void> {
    this.#leaving = this.#leaving.then(async () => {
      const last = this.#last.get(process)?.filter(isCounted) ?? [];
      this.#gone = await sum([this.#gone, last]).getMetricsAsJSON();
      this.#last.delete(process);
    });
    return this.#leaving;
  }
}

function sum(snapshots: readonly MetricsSnapshot[]): Registry {
  return AggregatorRegistry.aggregate(snapshots.map((snapshot) => [...snapshot]));
}

/** The types as they are, whatever the declarations of prom-client say of them. */
const countedTypes: readonly unknown[] = ['counter', 'histogram'];

function isCounted({ type }: MetricsSnapshot[number]): boolean {
  return countedTypes.includes(type);
}
