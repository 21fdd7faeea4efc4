/** The queued jobs of one request, in order. */
interface Line<Job> {
  readonly jobs: Job[];
  /** Whether its first job was taken. */
  started: boolean;
}

/** A request's place in the queue. */
export interface Place<Job> {
  add(job: Job): void;
  /** Drops the queued jobs, and frees the place. */
  leave(): void;
}

/**
 * Shares workers among owners in turn: however many requests an owner has, the others wait for one of its jobs. Among
 * an owner's requests, first jobs precede all later ones, oldest request first; later jobs are taken from the requests
 * in turn.
 */
export class FairQueue<Job> {
  readonly #owners = new Map<string, OwnerQueue<Job>>();
  /** Owners with queued jobs, next turn first. */
  readonly #turns = new Set<OwnerQueue<Job>>();

  /** Requests that have a place. */
  get size(): number {
    return this.#sum(({ size }) => size);
  }

  /** Number of requests whose first job waits. */
  get waiting(): number {
    return this.#sum(({ waiting }) => waiting);
  }

  /** The same numbers for one owner. */
  of(owner: string): { readonly size: number; readonly waiting: number } {
    return this.#owners.get(owner) ?? { size: 0, waiting: 0 };
  }

  enter(owner = ''): Place<Job> {
    const queue = this.#owners.get(owner) ?? new OwnerQueue<Job>();
    this.#owners.set(owner, queue);
    const place = queue.enter();
    return {
      add: (job) => {
        place.add(job);
        this.#turns.add(queue);
      },
      leave: () => {
        place.leave();
        if (!queue.hasJobs) this.#turns.delete(queue);
        if (queue.size === 0 && this.#owners.get(owner) === queue) this.#owners.delete(owner);
      },
    };
  }

  take(): Job | undefined {
    const [queue] = this.#turns;
    if (queue === undefined) return undefined;
    this.#turns.delete(queue);
    const job = queue.take();
    if (queue.hasJobs) this.#turns.add(queue);
    return job;
  }

  #sum(of: (queue: OwnerQueue<Job>) => number): number {
    let sum = 0;
    for (const queue of this.#owners.values()) sum += of(queue);
    return sum;
  }
}

class OwnerQueue<Job> {
  readonly #places = new Set<Line<Job>>();
  /** Requests whose first job waits. */
  readonly #newcomers = new Set<Line<Job>>();
  /** Requests whose later jobs wait, next turn first. */
  readonly #turns = new Set<Line<Job>>();

  get size(): number {
    return this.#places.size;
  }

  get waiting(): number {
    return this.#newcomers.size;
  }

  get hasJobs(): boolean {
    return this.#newcomers.size + this.#turns.size > 0;
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
