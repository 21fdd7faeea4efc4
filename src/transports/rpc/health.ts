/** grpc.health.v1 for every protocol: serving, or not serving while the store fails or the server stops. */

import { create, type MessageShape } from '@bufbuild/protobuf';
import {
  type HealthCheckRequest,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../../gen/health/v1/health_pb.ts';
import type { Signal } from '../../core/values/signal.ts';
import type { Readiness } from '../readiness.ts';

export class Health {
  readonly #services: ReadonlySet<string>;
  readonly #readiness: Readiness;
  readonly #watchers = new Set<() => void>();

  /** @param services full names of services; the empty name is the whole server */
  constructor(services: Iterable<string>, readiness: Readiness) {
    this.#services = new Set(['', ...services]);
    this.#readiness = readiness;
    readiness.onChange(() => {
      for (const wake of this.#watchers) wake();
    });
  }

  /** Undefined for an unknown service. */
  check({ service }: HealthCheckRequest): MessageShape<typeof HealthCheckResponseSchema> | undefined {
    return this.#services.has(service) ? response(this.#current()) : undefined;
  }

  /**
   * Yields the status now and at every change, until the client leaves. Ends when the server stops, so as not to delay
   * it.
   */
  async *watch({ service }: HealthCheckRequest, signal: Signal) {
    const isKnown = this.#services.has(service);
    const status = () => (isKnown ? this.#current() : ServingStatus.SERVICE_UNKNOWN);
    let sent = status();
    yield response(sent);
    for (;;) {
      if (status() !== sent) {
        sent = status();
        yield response(sent);
      }
      if (this.#readiness.isStopping || signal.aborted) return;
      if (status() === sent) await this.#change(signal);
    }
  }

  #current() {
    return this.#readiness.whyNot() === undefined ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  }

  #change(signal: Signal): Promise<void> {
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

function response(status: MessageShape<typeof HealthCheckResponseSchema>['status']) {
  return create(HealthCheckResponseSchema, { status });
}
