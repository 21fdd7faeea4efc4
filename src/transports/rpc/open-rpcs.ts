/** Health and reflection: RPCs that need no key and leave no record. */

import {
  create,
  type DescMethodBiDiStreaming,
  type DescMethodClientStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type Message,
  type MessageShape,
} from '@bufbuild/protobuf';
import { file_google_rpc_error_details } from '../../../gen/google/rpc/error_details_pb.ts';
import { file_google_rpc_status } from '../../../gen/google/rpc/status_pb.ts';
import * as v1 from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
import * as v1alpha from '../../../gen/grpc/reflection/v1alpha/reflection_pb.ts';
import {
  type HealthCheckRequest,
  HealthCheckResponseSchema,
  Health as HealthService,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../../gen/health/v1/health_pb.ts';
import type { Rpc } from '../../core/rpcs.ts';
import { ParleyError } from '../../core/values/errors.ts';
import type { Signal } from '../../core/values/signal.ts';
import type { Readiness } from '../readiness.ts';
import { Reflection } from './reflection.ts';

export type AnyMethod =
  | DescMethodUnary
  | DescMethodClientStreaming
  | DescMethodServerStreaming
  | DescMethodBiDiStreaming;

/** An RPC of any kind, from a stream of requests to a stream of responses. A unary RPC has one of each. */
export interface OpenRpc {
  readonly kind: 'open';
  readonly method: AnyMethod;
  readonly requestBytesMax: number;
  readonly run: (requests: AsyncIterable<Message>, signal: Signal) => AsyncIterable<Message>;
}

/** The name of a service, a file or a symbol. */
const requestBytesMax = 4 * 1024;

export function openRpcs(served: readonly Rpc[], readiness: Readiness): OpenRpc[] {
  const own = [...new Set(served.map(({ method }) => method.parent))];
  const names = own.map(({ typeName }) => typeName);
  const health = new Health(names, readiness);
  const services = [...own, HealthService, v1.ServerReflection, v1alpha.ServerReflection];
  // Clients use it to read the details of errors.
  const reflection = new Reflection(services, [file_google_rpc_error_details, file_google_rpc_status]);
  return [...healthRpcs(health), ...reflectionRpcs(reflection)];
}

function healthRpcs(health: Health): OpenRpc[] {
  return [
    {
      kind: 'open',
      requestBytesMax,
      method: HealthService.method.check,
      async *run(requests) {
        for await (const request of requests) yield checkOf(health, request as HealthCheckRequest);
      },
    },
    {
      kind: 'open',
      requestBytesMax,
      method: HealthService.method.watch,
      async *run(requests, signal) {
        for await (const request of requests) yield* health.watch(request as HealthCheckRequest, signal);
      },
    },
  ];
}

function checkOf(health: Health, request: HealthCheckRequest): Message {
  const response = health.check(request);
  if (response !== undefined) return response;
  throw new ParleyError('not_found', { message: 'There is no service of this name.', param: 'service' });
}

function reflectionRpcs(reflection: Reflection): OpenRpc[] {
  const v1Method = v1.ServerReflection.method.serverReflectionInfo;
  // The messages of v1alpha differ from these in their package alone.
  const { input, output } = v1Method;
  const alpha = { ...v1alpha.ServerReflection.method.serverReflectionInfo, input, output };
  return [v1Method, alpha].map((method) => ({
    kind: 'open',
    requestBytesMax,
    method,
    run: (requests) => reflection.info(requests as AsyncIterable<v1.ServerReflectionRequest>),
  }));
}

/** grpc.health.v1 for every protocol: serving, or not serving while the store fails or the server stops. */
class Health {
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
