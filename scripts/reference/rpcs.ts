/** The packages, services, RPCs and messages of the schemas, for the page that shows them. */
import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  type FileRegistry,
  hasOption,
  type JsonObject,
  ScalarType,
} from '@bufbuild/protobuf';
import { http } from '../../gen/google/api/annotations_pb.ts';
import { httpRule } from '../../src/codec/http-rule.ts';
import { commentOf, ownServices } from './schemas.ts';

export function rpcDocument(registry: FileRegistry): JsonObject {
  const services = ownServices(registry);
  return {
    packages: services.map((service) => {
      const name = service.file.proto.package;
      const files = [...registry.files].filter(({ proto }) => proto.package === name);
      return {
        name,
        files: files.map((file) => `${file.name}.proto`).sort(),
        service: describeService(service),
        messages: files.flatMap(({ messages }) => messages.map(describeMessage)),
      };
    }),
  };
}

function describeService(service: DescService): JsonObject {
  return { name: service.name, comment: commentOf(service), methods: service.methods.map(describeMethod) };
}

function describeMethod(method: DescMethod): JsonObject {
  const rule = hasOption(method, http) ? httpRule(method) : undefined;
  return {
    name: method.name,
    comment: commentOf(method),
    kind: method.methodKind,
    path: `/${method.parent.typeName}/${method.name}`,
    input: method.input.typeName,
    output: method.output.typeName,
    ...(rule && { rest: `${rule.verb} ${rule.path}` }),
  };
}

function describeMessage(message: DescMessage): JsonObject {
  return { name: message.typeName, comment: commentOf(message), fields: message.fields.map(describeField) };
}

function describeField(field: DescField): JsonObject {
  return {
    number: field.number,
    name: field.name,
    type: typeName(field),
    ...(field.message?.typeName.startsWith('parley.') && { message: field.message.typeName }),
    ...(field.oneof !== undefined && { oneof: field.oneof.name }),
    comment: commentOf(field),
  };
}

/** The name as the schema spells it. */
function typeName(field: DescField): string {
  const element =
    field.message?.typeName.split('.').at(-1) ??
    (field.scalar === undefined ? (field.enum?.name ?? '') : ScalarType[field.scalar].toLowerCase());
  if (field.fieldKind === 'list') return `repeated ${element}`;
  if (field.fieldKind === 'map') return `map<${ScalarType[field.mapKey].toLowerCase()}, ${element}>`;
  return field.proto.proto3Optional ? `optional ${element}` : element;
}
