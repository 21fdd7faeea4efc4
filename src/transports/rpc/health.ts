/** grpc.health.v1 for every protocol: serving, or not any more while the server drains. */
import { create, type MessageShape } from '@bufbuild/protobuf';
import {
  type HealthCheckRequest,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../../gen/health/v1/health_pb.ts';

export class Health {
  readonly #services: ReadonlySet<string>;
  readonly #watchers = new Set<() => void>();
  #isDraining = false;

  /** @param services full names of services; the empty name is the whole server */
  constructor(services: Iterable<string>) {
    this.#services = new Set(['', ...services]);
  }

  drain(): void {
    this.#isDraining = true;
    for (const wake of this.#watchers) wake();
  }

  /** Undefined for an unknown service. */
  check({ service }: HealthCheckRequest): MessageShape<typeof HealthCheckResponseSchema> | undefined {
    return this.#services.has(service) ? this.#response(this.#current()) : undefined;
  }

  /** Yields the status now and when it changes, until the client leaves. Ends when the server drains, so as not to delay it. */
  async *watch({ service }: HealthCheckRequest, signal: AbortSignal) {
    const isKnown = this.#services.has(service);
    yield this.#response(isKnown ? this.#current() : ServingStatus.SERVICE_UNKNOWN);
    if (this.#isDraining) return;
    await this.#change(signal);
    if (this.#isDraining && isKnown) yield this.#response(ServingStatus.NOT_SERVING);
  }

  #current() {
    return this.#isDraining ? ServingStatus.NOT_SERVING : ServingStatus.SERVING;
  }

  #response(status: MessageShape<typeof HealthCheckResponseSchema>['status']) {
    return create(HealthCheckResponseSchema, { status });
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#watchers.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#watchers.add(wake);
      signal.addEventListener('abort', wake);
      if (signal.aborted) wake();
    });
  }
}
