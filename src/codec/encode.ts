import {
  type DescField,
  type DescMessage,
  isMessage,
  type JsonObject,
  type JsonValue,
  ScalarType,
  toJson,
} from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence, TimestampSchema, ValueSchema } from '@bufbuild/protobuf/wkt';
import { formOf, isAlwaysPresent, memberOf, objectShape, onlyField, setMember } from './shape.ts';

type Encoder = (value: unknown) => JsonValue;

const encoders = new Map<DescMessage, Encoder>();

export function encoderOf(message: DescMessage): Encoder {
  const known = encoders.get(message);
  if (known) return known;
  let built: Encoder | undefined;
  // A message may contain itself: the map gets its entry before the encoder is built.
  const encoder: Encoder = (value) => {
    built ??= buildEncoder(message);
    return built(value);
  };
  encoders.set(message, encoder);
  return encoder;
}

function buildEncoder(message: DescMessage): Encoder {
  switch (message.typeName) {
    case 'google.protobuf.Timestamp':
      return (value) => (isMessage(value, TimestampSchema) ? toJson(TimestampSchema, value) : null);
    case 'google.protobuf.Value':
      return (value) => (isMessage(value, ValueSchema) ? toJson(ValueSchema, value) : null);
    case 'google.protobuf.Struct':
      return (value) => value as JsonObject;
  }
  switch (formOf(message)) {
    case 'union':
      return unionEncoder(message);
    case 'list':
      return listMessageEncoder(message);
    case 'object':
      return objectEncoder(message);
  }
}

function objectEncoder(message: DescMessage): Encoder {
  const { fields, other } = objectShape(message);
  const members = fields.map((field) => ({
    field,
    name: field.jsonName,
    localName: field.localName,
    isChoice: field.oneof !== undefined,
    isEmpty: emptiness(field),
    encode: fieldEncoder(field),
  }));
  const implicit = new Set(fields.filter(hasImplicitPresence).map(({ jsonName }) => jsonName));
  return (value) => {
    const fieldValues = value as Record<string, unknown>;
    const result: JsonObject = {};
    // Most fields of a chat are unset, so a plain one is read without a call.
    for (const { field, name, localName, isChoice, isEmpty, encode } of members) {
      const member = isChoice ? memberOf(field, fieldValues) : fieldValues[localName];
      if (member !== undefined && !isEmpty?.(member)) result[name] = encode(member);
    }
    const rest = other && (fieldValues[other.localName] as JsonObject | undefined);
    // A field of the schema is never overwritten, as its value may have been checked.
    for (const name in rest) {
      if (!Object.hasOwn(result, name) || isUnset(result[name], implicit.has(name))) {
        setMember(result, name, rest[name]);
      }
    }
    return result;
  };
}

/** Fields that always have a value, even if it is the default and was never set. */
function hasImplicitPresence({ presence }: DescField): boolean {
  return presence === FeatureSet_FieldPresence.IMPLICIT;
}

function isUnset(value: JsonValue | undefined, isImplicit: boolean): boolean {
  return isImplicit && (Array.isArray(value) ? value.length === 0 : !value);
}

/** Whether a value is left out as empty; undefined if only an unset one is left out. */
function emptiness(field: DescField): ((value: unknown) => boolean) | undefined {
  if (field.fieldKind === 'list' && !isAlwaysPresent(field))
    return (value) => (value as unknown[]).length === 0;
  return field.fieldKind === 'map' ? (value) => Object.keys(value as object).length === 0 : undefined;
}

function fieldEncoder(field: DescField): Encoder {
  switch (field.fieldKind) {
    case 'scalar':
      return scalarEncoder(field.scalar);
    case 'message':
      return encoderOf(field.message);
    case 'list': {
      const encode = elementEncoder(field);
      return (value) => (value as unknown[]).map(encode);
    }
    case 'map':
      return (value) => value as JsonObject;
    case 'enum':
      throw new Error(`${field} is an enum, which the JSON of this schema does not use`);
  }
}

function elementEncoder(field: DescField & { readonly fieldKind: 'list' }): Encoder {
  if (field.listKind === 'message') return encoderOf(field.message);
  if (field.listKind === 'scalar') return scalarEncoder(field.scalar);
  throw new Error(`${field} is a list of enums, which the JSON of this schema does not use`);
}

/** 64-bit integers are JSON numbers if a double is exact, else strings. */
function scalarEncoder(scalar: ScalarType): Encoder {
  if (scalar !== ScalarType.INT64) return (value) => value as JsonValue;
  return (value) => {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  };
}

function unionEncoder(message: DescMessage): Encoder {
  const members = message.fields.map((field) => ({ field, encode: fieldEncoder(field) }));
  return (value) => {
    for (const { field, encode } of members) {
      const member = memberOf(field, value as Record<string, unknown>);
      if (member !== undefined) return encode(member);
    }
    return null;
  };
}

function listMessageEncoder(message: DescMessage): Encoder {
  const field = onlyField(message);
  const encode = fieldEncoder(field);
  return (value) => encode(memberOf(field, value as Record<string, unknown>));
}
