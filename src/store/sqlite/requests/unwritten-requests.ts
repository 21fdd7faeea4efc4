import type { RunningRequest } from './running-request.ts';

/** A request that runs longer gets a started record, so that a killed server leaves a record of it. */
const unwrittenMsMax = 25;

/** Requests without a started record, in the order of their arrival. */
export class UnwrittenRequests {
  readonly #write: (requests: readonly RunningRequest[]) => void;
  readonly #requests = new Set<RunningRequest>();
  #timer: NodeJS.Timeout | undefined;

  /** @param write called with requests that have run for `unwrittenMsMax` */
  constructor(write: (requests: readonly RunningRequest[]) => void) {
    this.#write = write;
  }

  add(request: RunningRequest): void {
    this.#requests.add(request);
    this.#timer ??= setTimeout(() => this.#writeDue(), unwrittenMsMax).unref();
  }

  delete(request: RunningRequest): void {
    this.#requests.delete(request);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#requests.clear();
  }

  #writeDue(): void {
    this.#timer = undefined;
    const nowMs = performance.now();
    const due: RunningRequest[] = [];
    for (const request of this.#requests) {
      const leftMs = request.sinceMs + unwrittenMsMax - nowMs;
      if (leftMs > 0) {
        this.#timer = setTimeout(() => this.#writeDue(), leftMs).unref();
        break;
      }
      due.push(request);
    }
    for (const request of due) this.#requests.delete(request);
    if (due.length > 0) this.#write(due);
  }
}
