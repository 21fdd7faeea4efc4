import type { OpenRequest } from './open-request.ts';

/** A request that runs longer gets a started record, so that a killed server leaves a trace of it. */
const youngMsMax = 25;

/** Requests without a started record, in the order of their arrival. */
export class YoungRequests {
  readonly #onGrown: (requests: OpenRequest[]) => void;
  readonly #requests = new Set<OpenRequest>();
  #timer: NodeJS.Timeout | undefined;

  /** @param onGrown gets those that have run for `youngMsMax` */
  constructor(onGrown: (requests: OpenRequest[]) => void) {
    this.#onGrown = onGrown;
  }

  add(request: OpenRequest): void {
    this.#requests.add(request);
    this.#timer ??= setTimeout(() => this.#takeGrown(), youngMsMax).unref();
  }

  delete(request: OpenRequest): void {
    this.#requests.delete(request);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#requests.clear();
  }

  #takeGrown(): void {
    this.#timer = undefined;
    const nowMs = performance.now();
    const grown: OpenRequest[] = [];
    for (const request of this.#requests) {
      const leftMs = request.sinceMs + youngMsMax - nowMs;
      if (leftMs > 0) {
        this.#timer = setTimeout(() => this.#takeGrown(), leftMs).unref();
        break;
      }
      grown.push(request);
    }
    for (const request of grown) this.#requests.delete(request);
    if (grown.length > 0) this.#onGrown(grown);
  }
}
