import {
  create,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from '@bufbuild/protobuf';
import { type Timestamp, timestampFromMs, ValueSchema } from '@bufbuild/protobuf/wkt';
import { type ErrorCode, ParleyError } from '../core/values/errors.ts';
import { isObject } from '../core/values/json.ts';
import { withDoubles } from '../core/values/long-integers.ts';
import { formOf, isAlwaysPresent, objectShape, onlyField, setMember } from './shape.ts';

/**
 * The code of the error for a value of the wrong type at a path, such as `messages[0].role`; empty for the document itself.
 * Undefined: the value is kept with the unknown members.
 */
export type CodeOf = (path: string) => ErrorCode | undefined;

/** The decoder's place in a document. One object serves the whole document, so that a member costs no memory of its own. */
export interface Place {
  /** Names of members and indexes of elements, from the outside in. */
  readonly path: (string | number)[];
  readonly codeOf: CodeOf;
}

/** Returns a value of the schema. For JSON of another type, returns undefined, or throws the error of the place. */
type Decoder<T = unknown> = (json: JsonValue, place: Place) => T | undefined;
type Decodable = Record<string, unknown>;

const decoders = new Map<DescMessage, Decoder>();

export function decoderOf(message: DescMessage): Decoder {
  const known = decoders.get(message);
  if (known) return known;
  let built: Decoder | undefined;
  // A message may contain itself: the map gets its entry before the decoder is built.
  const decoder: Decoder = (json, place) => {
    built ??= buildDecoder(message);
    return built(json, place);
  };
  decoders.set(message, decoder);
  return decoder;
}

function buildDecoder(message: DescMessage): Decoder {
  switch (message.typeName) {
    case 'google.protobuf.Timestamp':
      return decodeTimestamp;
    case 'google.protobuf.Struct':
      return (json, place) => (isObject(json) ? json : wrong(place, 'an object'));
    case 'google.protobuf.Value':
      return (json) => fromJson(ValueSchema, withDoubles(json));
  }
  switch (formOf(message)) {
    case 'union':
      return unionDecoder(message);
    case 'list':
      return listMessageDecoder(message);
    case 'object':
      return objectDecoder(message);
  }
}

function objectDecoder(message: DescMessage): Decoder {
  const { fields, other } = objectShape(message);
  const members = new Map(fields.map((field) => [field.jsonName, { field, decode: fieldDecoder(field) }]));
  return (json, place) => {
    if (!isObject(json)) return wrong(place, 'an object');
    const result: Decodable = create(message);
    let rest: JsonObject | undefined;
    for (const name in json) {
      const value = json[name] ?? null;
      const member = members.get(name);
      const decoded = member && value !== null ? within(place, name, value, member.decode) : undefined;
      if (member && decoded !== undefined) assign(result, member.field, decoded);
      else if (other) {
        rest ??= {};
        setMember(rest, name, value);
      }
    }
    if (other && rest) result[other.localName] = rest;
    return result;
  };
}

function assign(result: Decodable, field: DescField, value: unknown): void {
  if (field.oneof) result[field.oneof.localName] = { case: field.localName, value };
  else result[field.localName] = value;
}

function fieldDecoder(field: DescField): Decoder {
  switch (field.fieldKind) {
    case 'scalar':
      return scalarDecoder(field.scalar);
    case 'message':
      return decoderOf(field.message);
    case 'list':
      return listDecoder(field);
    case 'map':
      return mapDecoder(field);
    case 'enum':
      throw new Error(`${field} is an enum, which the JSON of this schema does not use`);
  }
}

type ListField = DescField & { readonly fieldKind: 'list' };
type MapField = DescField & { readonly fieldKind: 'map' };

function listDecoder(field: ListField): Decoder {
  const decode = elementDecoder(field);
  const takesEmpty = isAlwaysPresent(field);
  return (json, place) => {
    if (!Array.isArray(json)) return wrong(place, 'an array');
    // Messages do not distinguish an empty list from an absent one; JSON does.
    if (json.length === 0 && !takesEmpty) return undefined;
    return decodeItems(json, place, decode);
  };
}

/** Undefined if an item has the wrong type. Later items are not decoded. */
function decodeItems(json: readonly JsonValue[], place: Place, decode: Decoder): unknown[] | undefined {
  const items: unknown[] = [];
  for (const [index, item] of json.entries()) {
    const decoded = within(place, index, item, decode);
    if (decoded === undefined) return undefined;
    items.push(decoded);
  }
  return items;
}

function elementDecoder(field: ListField): Decoder {
  if (field.listKind === 'scalar') return scalarDecoder(field.scalar);
  if (field.listKind === 'message') return decoderOf(field.message);
  throw new Error(`${field} is a list of enums, which the JSON of this schema does not use`);
}

function mapDecoder(field: MapField): Decoder {
  if (field.mapKind !== 'scalar')
    throw new Error(`${field} is a map of messages, which the JSON of this schema does not use`);
  const decode = scalarDecoder(field.scalar);
  return (json, place) => {
    if (!isObject(json)) return wrong(place, 'an object');
    const entries = Object.entries(json);
    if (entries.length === 0) return undefined;
    const result: Decodable = {};
    for (const [key, value] of entries) {
      const decoded = within(place, key, value, decode);
      if (decoded === undefined) return undefined;
      setMember(result, key, decoded);
    }
    return result;
  };
}

/** Decodes with the first field that accepts this type of JSON. */
function unionDecoder(message: DescMessage): Decoder {
  const members = message.fields.map((field) => ({
    field,
    decode: fieldDecoder(field),
    takes: kindOf(field),
  }));
  const expected = members.map(({ takes }) => takes.name).join(' or ');
  return (json, place) => {
    const member = members.find(({ takes }) => takes.test(json));
    if (member === undefined) return wrong(place, expected);
    const value = member.decode(json, place);
    if (value === undefined) return undefined;
    const result: Decodable = create(message);
    assign(result, member.field, value);
    return result;
  };
}

function kindOf(field: DescField): { name: string; test: (json: JsonValue) => boolean } {
  if (field.fieldKind === 'message' && formOf(field.message) === 'list') {
    return { name: 'an array', test: Array.isArray };
  }
  if (field.fieldKind === 'message') return { name: 'an object', test: isObject };
  return { name: 'a string', test: (json) => typeof json === 'string' };
}

function listMessageDecoder(message: DescMessage): Decoder {
  const field = onlyField(message);
  const decode = elementDecoder(field as ListField);
  return (json, place) => {
    if (!Array.isArray(json)) return wrong(place, 'an array');
    const items = decodeItems(json, place, decode);
    if (items === undefined) return undefined;
    const result: Decodable = create(message);
    result[field.localName] = items;
    return result;
  };
}

function scalarDecoder(scalar: ScalarType): Decoder {
  switch (scalar) {
    case ScalarType.STRING:
      return (json, place) => (typeof json === 'string' ? json : wrong(place, 'a string'));
    case ScalarType.BOOL:
      return (json, place) => (typeof json === 'boolean' ? json : wrong(place, 'true or false'));
    case ScalarType.DOUBLE:
      return (json, place) => (typeof json === 'number' ? json : wrong(place, 'a number'));
    case ScalarType.INT32:
      return (json, place) => (isInt32(json) ? json : wrong(place, 'a whole number'));
    case ScalarType.INT64:
      return (json, place) =>
        Number.isSafeInteger(json) ? BigInt(Number(json)) : wrong(place, 'a whole number');
    default:
      throw new Error(`${ScalarType[scalar]} is a type that the JSON of this schema does not use`);
  }
}

function isInt32(json: JsonValue): json is number {
  return typeof json === 'number' && (json | 0) === json;
}

/** RFC 3339, as in the JSON mapping of protobuf. */
const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/i;

function decodeTimestamp(json: JsonValue, place: Place): Timestamp | undefined {
  const ms = typeof json === 'string' && rfc3339.test(json) && isDay(json) ? Date.parse(json) : Number.NaN;
  return Number.isNaN(ms) ? wrong(place, 'a time such as 2030-01-31T12:00:00Z') : timestampFromMs(ms);
}

/** Whether the date exists: `Date.parse` reads February 30 as March 2. */
function isDay(time: string): boolean {
  const day = time.slice(0, 10);
  const ms = Date.parse(day);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day);
}

function wrong({ path, codeOf }: Place, expected: string): undefined {
  const param = pathText(path);
  const code = codeOf(param);
  if (code) throw new ParleyError(code, { message: `\`${param}\` must be ${expected}.`, param });
  return undefined;
}

/** Decodes a member or an element. After an error the place must not be used again. */
function within(place: Place, step: string | number, json: JsonValue, decode: Decoder): unknown {
  place.path.push(step);
  const decoded = decode(json, place);
  place.path.pop();
  return decoded;
}

function pathText(path: readonly (string | number)[]): string {
  const steps = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`));
  return steps.join('').replace(/^\./, '');
}
