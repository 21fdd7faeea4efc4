/** The JSON form of a message according to its schema, and functions for members of JSON objects. */
import {
  type DescField,
  type DescMessage,
  hasOption,
  type JsonObject,
  type JsonValue,
} from '@bufbuild/protobuf';
import {
  always_present as alwaysPresent,
  json_list as jsonList,
  json_union as jsonUnion,
  other_members as otherMembers,
} from '../../gen/parley/rest/v1/options_pb.ts';
import { isObject } from '../core/values/json.ts';

interface ObjectShape {
  readonly fields: readonly DescField[];
  /** The field for members that no other field accepts; undefined if they are dropped. */
  readonly other: DescField | undefined;
}

/** The JSON of a message: an object, an array, or the JSON of the one field that is set. */
export type JsonForm = 'object' | 'list' | 'union';

export function formOf(message: DescMessage): JsonForm {
  if (hasOption(message, jsonUnion)) return 'union';
  return hasOption(message, jsonList) ? 'list' : 'object';
}

export function objectShape(message: DescMessage): ObjectShape {
  const other = message.fields.find((field) => hasOption(field, otherMembers));
  return { fields: message.fields.filter((field) => field !== other), other };
}

export function isAlwaysPresent(field: DescField): boolean {
  return hasOption(field, alwaysPresent);
}

export function onlyField(message: DescMessage): DescField {
  const [field] = message.fields;
  if (field === undefined) throw new Error(`${message.typeName} has no field`);
  return field;
}

/** The value of a field; undefined if another field of its oneof is set. */
export function memberOf(
  { oneof, localName }: DescField,
  message: Readonly<Record<string, unknown>>,
): unknown {
  if (oneof === undefined) return message[localName];
  const chosen = message[oneof.localName] as { readonly case: unknown; readonly value?: unknown };
  return chosen.case === localName ? chosen.value : undefined;
}

/** The text of a member; empty for any other value. */
export function stringOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** The objects in a list; none for any other value. */
export function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Sets a member of any name: a plain assignment of `__proto__` would change the prototype. */
export function setMember(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[name] = value;
  }
}

/** A trimmed string; undefined if it is blank or not a string. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

/** A finite number, also in quotes, as some servers write it. */
export function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}
