/** RPCs as a client with a newer schema has them: with a field that the server does not know. */
import { clone, create, createFileRegistry, type DescFile, type DescMethodUnary } from '@bufbuild/protobuf';
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';

/** The number of the field in its message. */
export const newNumber = 99;

/** @param message the full name of the message that gets another text field */
export function withNewField(method: DescMethodUnary, message: string, name: string): DescMethodUnary {
  const file = filesOf(method.parent.file).map(({ proto }) => clone(FileDescriptorProtoSchema, proto));
  const type = file
    .flatMap((one) => one.messageType.map((candidate) => ({ one, candidate })))
    .find(({ one, candidate }) => `${one.package}.${candidate.name}` === message)?.candidate;
  if (type === undefined) throw new Error(`${method} does not use ${message}`);
  const { OPTIONAL: label } = FieldDescriptorProto_Label;
  const { STRING } = FieldDescriptorProto_Type;
  type.field.push(
    create(FieldDescriptorProtoSchema, { name, jsonName: name, number: newNumber, label, type: STRING }),
  );
  const service = createFileRegistry(create(FileDescriptorSetSchema, { file })).getService(
    method.parent.typeName,
  );
  const newer = service?.methods.find(({ name: own }) => own === method.name);
  if (newer?.methodKind !== 'unary') throw new Error(`${method} is not in its own file`);
  return newer as DescMethodUnary;
}

/** Orders a file after its imports. */
function filesOf(file: DescFile): DescFile[] {
  return [...new Set([...file.dependencies.flatMap(filesOf), file])];
}
