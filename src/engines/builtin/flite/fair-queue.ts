/** The jobs of one request, in order. */
interface Line<Job> {
  readonly jobs: Job[];
  /** Whether its first job was taken. */
  started: boolean;
}

/** What a request holds of the queue. */
export interface Place<Job> {
  add(job: Job): void;
  /** Gives the place up. What was not taken will not be. */
  leave(): void;
}

/**
 * Shares the threads among requests: the first job of a request goes before all later jobs of others, oldest request first,
 * and later jobs are taken from the requests in turn.
 */
export class FairQueue<Job> {
  readonly #places = new Set<Line<Job>>();
  readonly #newcomers = new Set<Line<Job>>();
  /** Lines with later jobs; whose turn is next comes first. */
  readonly #turns = new Set<Line<Job>>();

  /** Requests that hold a place. */
  get size(): number {
    return this.#places.size;
  }

  /** Requests that wait for their first job to be taken. */
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
