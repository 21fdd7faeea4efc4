/** The queued jobs of one request, in order. */
interface Line<Job> {
  readonly jobs: Job[];
  /** Whether its first job was taken. */
  started: boolean;
}

/** A request's place in the queue. */
export interface Place<Job> {
  add(job: Job): void;
  /** Drops the jobs that are still queued, and frees the place. */
  leave(): void;
}

/**
 * Shares workers among requests. The first job of each request goes before all later jobs of others, oldest request
 * first; later jobs are taken from the requests in turn.
 */
export class FairQueue<Job> {
  readonly #places = new Set<Line<Job>>();
  /** Lines whose first job waits. */
  readonly #newcomers = new Set<Line<Job>>();
  /** Lines whose later jobs wait, next turn first. */
  readonly #turns = new Set<Line<Job>>();

  /** Requests that hold a place. */
  get size(): number {
    return this.#places.size;
  }

  /** Requests whose first job waits. */
  get waiting(): number {
    return this.#newcomers.size;
  }

  enter(): Place<Job> {
    const line: Line<Job> = { jobs: [], started: false };
    this.#places.add(line);
    return {
      add: (job) => {
        line.jobs.push(job);
        this.#queue(line);
      },
      leave: () => {
        line.jobs.length = 0;
        for (const lines of [this.#places, this.#newcomers, this.#turns]) lines.delete(line);
      },
    };
  }

  take(): Job | undefined {
    const [line] = this.#newcomers.size > 0 ? this.#newcomers : this.#turns;
    if (line === undefined) return undefined;
    this.#newcomers.delete(line);
    this.#turns.delete(line);
    line.started = true;
    const job = line.jobs.shift();
    if (line.jobs.length > 0) this.#queue(line);
    return job;
  }

  #queue(line: Line<Job>): void {
    if (line.started) this.#turns.add(line);
    else this.#newcomers.add(line);
  }
}
