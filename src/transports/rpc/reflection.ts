/** Server reflection: sends the schemas to clients that were built without them. v1 and v1alpha have the same messages. */
import {
  create,
  type DescExtension,
  type DescFile,
  type DescMessage,
  type DescService,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import {
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from '../../../gen/grpc/reflection/v1/reflection_pb.ts';

type Answer = MessageInitShape<typeof ServerReflectionResponseSchema>['messageResponse'];

/** google.rpc.Code.NOT_FOUND. */
const notFound = 5;

export class Reflection {
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
