/** Health and reflection: RPCs that need no key and leave no record. */
import {
  create,
  type DescExtension,
  type DescFile,
  type DescMessage,
  type DescMethodBiDiStreaming,
  type DescMethodClientStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  type Message,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { file_google_rpc_error_details } from '../../../gen/google/rpc/error_details_pb.ts';
import { file_google_rpc_status } from '../../../gen/google/rpc/status_pb.ts';
import * as v1 from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
import {
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
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
  const others = [file_google_rpc_error_details, file_google_rpc_status];
  let reflection: Reflection | undefined;
  return [...healthRpcs(health), ...reflectionRpcs(() => (reflection ??= new Reflection(services, others)))];
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

function reflectionRpcs(reflection: () => Reflection): OpenRpc[] {
  const v1Method = v1.ServerReflection.method.serverReflectionInfo;
  // The messages of v1alpha differ from these in their package alone.
  const { input, output } = v1Method;
  const alpha = { ...v1alpha.ServerReflection.method.serverReflectionInfo, input, output };
  return [v1Method, alpha].map((method) => ({
    kind: 'open',
    requestBytesMax,
    method,
    run: (requests) => reflection().info(requests as AsyncIterable<v1.ServerReflectionRequest>),
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

type Answer = MessageInitShape<typeof ServerReflectionResponseSchema>['messageResponse'];

/** google.rpc.Code.NOT_FOUND. */
const notFound = 5;

/** Sends the schemas to clients that were built without them. */
class Reflection {
  readonly #services: readonly DescService[];
  readonly #filesByName = new Map<string, DescFile>();
  readonly #filesBySymbol = new Map<string, DescFile>();
  readonly #extensions = new Map<string, Map<number, DescFile>>();

  /** @param others files that no service imports: those of the messages in `Any` */
  constructor(services: readonly DescService[], others: readonly DescFile[]) {
    this.#services = services;
    for (const { file } of services) this.#add(file);
    for (const file of others) this.#add(file);
  }

  /** Answers each request, in order. */
  async *info(requests: AsyncIterable<ServerReflectionRequest>): AsyncGenerator<ServerReflectionResponse> {
    for await (const request of requests) {
      yield create(ServerReflectionResponseSchema, {
        validHost: request.host,
        originalRequest: request,
        messageResponse: this.#answer(request),
      });
    }
  }

  #answer({ messageRequest }: ServerReflectionRequest): NonNullable<Answer> {
    switch (messageRequest.case) {
      case 'listServices': {
        const service = this.#services.map(({ typeName }) => ({ name: typeName }));
        return { case: 'listServicesResponse', value: { service } };
      }
      case 'fileByFilename':
        return files(this.#filesByName.get(messageRequest.value));
      case 'fileContainingSymbol':
        return files(this.#filesBySymbol.get(messageRequest.value));
      case 'fileContainingExtension': {
        const { containingType, extensionNumber } = messageRequest.value;
        return files(this.#extensions.get(containingType)?.get(extensionNumber));
      }
      case 'allExtensionNumbersOfType': {
        const numbers = this.#extensions.get(messageRequest.value);
        if (numbers === undefined && !this.#filesBySymbol.has(messageRequest.value)) return files(undefined);
        const extensionNumber = [...(numbers?.keys() ?? [])];
        return {
          case: 'allExtensionNumbersResponse',
          value: { baseTypeName: messageRequest.value, extensionNumber },
        };
      }
      default:
        return { case: 'errorResponse', value: { errorCode: 3, errorMessage: 'Send a `message_request`.' } };
    }
  }

  #add(file: DescFile): void {
    if (this.#filesByName.has(file.proto.name)) return;
    this.#filesByName.set(file.proto.name, file);
    for (const service of file.services) this.#addSymbols(service.typeName, service.methods, file);
    for (const message of file.messages) this.#addMessage(message, file);
    for (const { typeName, values } of file.enums) this.#addSymbols(typeName, values, file);
    for (const extension of file.extensions) this.#addExtension(extension, file);
    for (const dependency of file.dependencies) this.#add(dependency);
  }

  #addMessage(message: DescMessage, file: DescFile): void {
    this.#addSymbols(message.typeName, [...message.fields, ...message.oneofs], file);
    for (const { typeName, values } of message.nestedEnums) this.#addSymbols(typeName, values, file);
    for (const nested of message.nestedMessages) this.#addMessage(nested, file);
    for (const extension of message.nestedExtensions) this.#addExtension(extension, file);
  }

  /** Adds a name, and the names of its members. */
  #addSymbols(typeName: string, members: readonly { readonly name: string }[], file: DescFile): void {
    this.#filesBySymbol.set(typeName, file);
    for (const { name } of members) this.#filesBySymbol.set(`${typeName}.${name}`, file);
  }

  #addExtension({ typeName, number, extendee }: DescExtension, file: DescFile): void {
    this.#filesBySymbol.set(typeName, file);
    const numbers = this.#extensions.get(extendee.typeName) ?? new Map<number, DescFile>();
    this.#extensions.set(extendee.typeName, numbers.set(number, file));
  }
}

/** A file and all its imports, so that one request is enough. */
function files(file: DescFile | undefined): NonNullable<Answer> {
  if (file === undefined) {
    return {
      case: 'errorResponse',
      value: { errorCode: notFound, errorMessage: 'There is no schema of this name.' },
    };
  }
  const fileDescriptorProto = [...closure(file)].map(({ proto }) =>
    toBinary(FileDescriptorProtoSchema, proto),
  );
  return { case: 'fileDescriptorResponse', value: { fileDescriptorProto } };
}

function closure(file: DescFile, seen = new Set<DescFile>()): Set<DescFile> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const dependency of file.dependencies) closure(dependency, seen);
  return seen;
}
