/** Health and reflection: RPCs that need no key and leave no record. */

import {
  type DescMethodBiDiStreaming,
  type DescMethodClientStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type Message,
  toBinary,
} from '@bufbuild/protobuf';
import { file_google_rpc_error_details } from '../../../gen/google/rpc/error_details_pb.ts';
import { file_google_rpc_status } from '../../../gen/google/rpc/status_pb.ts';
import * as v1 from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
import * as v1alpha from '../../../gen/grpc/reflection/v1alpha/reflection_pb.ts';
import { type HealthCheckRequest, Health as HealthService } from '../../../gen/health/v1/health_pb.ts';
import type { Rpc } from '../../core/rpcs.ts';
import { ParleyError } from '../../core/values/errors.ts';
import type { Signal } from '../../core/values/signal.ts';
import type { Readiness } from '../readiness.ts';
import { Health } from './health.ts';
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
  return [
    {
      kind: 'open',
      requestBytesMax,
      method: v1.ServerReflection.method.serverReflectionInfo,
      run: (requests) => reflection.info(requests as AsyncIterable<v1.ServerReflectionRequest>),
    },
    {
      kind: 'open',
      requestBytesMax,
      method: v1alpha.ServerReflection.method.serverReflectionInfo,
      async *run(requests) {
        const answers = reflection.info(toV1(requests as AsyncIterable<v1alpha.ServerReflectionRequest>));
        for await (const answer of answers) yield toAlpha(answer);
      },
    },
  ];
}

/** v1 and v1alpha have the same binary encoding. */
async function* toV1(requests: AsyncIterable<v1alpha.ServerReflectionRequest>) {
  for await (const request of requests) {
    const bytes = toBinary(v1alpha.ServerReflectionRequestSchema, request);
    yield fromBinary(v1.ServerReflectionRequestSchema, bytes);
  }
}

function toAlpha(response: v1.ServerReflectionResponse): Message {
  const bytes = toBinary(v1.ServerReflectionResponseSchema, response);
  return fromBinary(v1alpha.ServerReflectionResponseSchema, bytes);
}
