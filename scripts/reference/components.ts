/** The JSON Schemas of messages, as the codec writes and reads them. */
import { type DescField, type DescMessage, type JsonObject, ScalarType } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import { formOf, isAlwaysPresent, objectShape, onlyField } from '../../src/codec/shape.ts';
import { fieldKeywords, requestKeywords, requiredInRequests } from './field-keywords.ts';
import { moreMembers, nullable, promised } from './rest-forms.ts';
import { ref } from './rest-schemas.ts';
import { capitalised, commentOf, packageWord } from './schemas.ts';

/** Whether clients or the server write a message. Messages that both write have two schemas, as null and bounds differ. */
type Use = 'request' | 'response';

interface Described {
  readonly message: DescMessage;
  readonly uses: Set<Use>;
}

/** Collects the messages of operations. Each is described once, under its name. */
export class Components {
  readonly #described = new Map<string, Described>();

  /** Messages of requests that refuse unknown members. */
  readonly #strict = new Set<string>();

  /** Adds a message and all that it contains. @param isStrict whether unknown members are refused */
  add(message: DescMessage, use: Use, isStrict = false): void {
    const known = this.#described.get(message.typeName) ?? { message, uses: new Set() };
    if (wellKnown[message.typeName] !== undefined || known.uses.has(use)) return;
    known.uses.add(use);
    if (isStrict) this.#strict.add(message.typeName);
    this.#described.set(message.typeName, known);
    for (const field of objectShape(message).fields) {
      if (field.message !== undefined) this.add(field.message, use, isStrict);
    }
  }

  schemas(): JsonObject {
    const all = [...this.#described.values()].sort((a, b) =>
      this.nameOf(a.message).localeCompare(this.nameOf(b.message), 'en'),
    );
    return Object.fromEntries(
      all.flatMap(({ message, uses }) =>
        [...uses].sort().map((use) => [this.#nameFor(message, use), this.#schema(message, use)]),
      ),
    );
  }

  #nameFor(message: DescMessage, use: Use): string {
    const isShared = (this.#described.get(message.typeName)?.uses.size ?? 0) > 1;
    return this.nameOf(message) + (isShared && use === 'request' ? 'Input' : '');
  }

  /** The name of a message without its package. A prefix keeps messages of administration apart from others of the same name. */
  nameOf(message: DescMessage): string {
    const isShared = [...this.#described.values()].some(
      ({ message: other }) => other.name === message.name && other.typeName !== message.typeName,
    );
    return isShared ? capitalised(packageWord(message.typeName)) + message.name : message.name;
  }

  ref(message: DescMessage, use: Use): JsonObject {
    return wellKnown[message.typeName] ?? ref(this.#nameFor(message, use));
  }

  /** The schema of an object with some of a message's fields. */
  object(message: DescMessage, fields: readonly DescField[], use: Use): JsonObject {
    const { other } = objectShape(message);
    const members = fields.map((field) => [field.jsonName, this.field(field, use)]);
    const required = fields.filter((field) => isRequired(field, use)).map(({ jsonName }) => jsonName);
    const isClosed = use === 'request' && this.#strict.has(message.typeName);
    return {
      type: 'object',
      ...describedBy(commentOf(message)),
      ...(required.length > 0 && { required }),
      properties: { ...Object.fromEntries(members), ...moreMembers[message.typeName] },
      ...(other !== undefined && { additionalProperties: true }),
      ...(isClosed && { additionalProperties: false }),
    };
  }

  field(field: DescField, use: Use): JsonObject {
    const schema = this.value(field, use);
    const described = describedBy(commentOf(field));
    const isNullable =
      use === 'request'
        ? formOf(field.parent) === 'object' && !isRequired(field, use)
        : nullable.has(`${field.parent.typeName}.${field.name}`);
    if (!isNullable || Object.keys(schema).length === 0 || schema['type'] === 'null')
      return { ...schema, ...described };
    return { anyOf: [schema, { type: 'null' }], ...described };
  }

  /** The schema of a field's value, without null. */
  value(field: DescField, use: Use): JsonObject {
    const name = `${field.parent.typeName}.${field.name}`;
    const keywords = fieldKeywords[name] ?? (use === 'request' ? requestKeywords[field.name] : undefined);
    return { ...this.#valueOf(field, use), ...keywords };
  }

  #schema(message: DescMessage, use: Use): JsonObject {
    const described = describedBy(commentOf(message));
    switch (formOf(message)) {
      case 'union':
        return { ...described, anyOf: message.fields.map((field) => this.field(field, use)) };
      case 'list':
        return { ...described, ...this.field(onlyField(message), use) };
      case 'object':
        return this.object(message, objectShape(message).fields, use);
    }
  }

  #valueOf(field: DescField, use: Use): JsonObject {
    switch (field.fieldKind) {
      case 'scalar':
        return scalarSchema(field.scalar);
      case 'message':
        return this.ref(field.message, use);
      case 'list':
        return { type: 'array', items: this.#elementOf(field, use) };
      case 'map':
        return { type: 'object', additionalProperties: this.#elementOf(field, use) };
      case 'enum':
        throw new Error(`${field} is an enum, which the JSON of this schema does not use`);
    }
  }

  #elementOf(field: DescField & { readonly fieldKind: 'list' | 'map' }, use: Use): JsonObject {
    if (field.message !== undefined) return this.ref(field.message, use);
    if (field.scalar !== undefined) return scalarSchema(field.scalar);
    throw new Error(`${field} has enums, which the JSON of this schema does not use`);
  }
}

/** Messages of Google that have their own form in JSON. */
const wellKnown: Readonly<Record<string, JsonObject>> = {
  'google.protobuf.Timestamp': { type: 'string', format: 'date-time' },
  'google.protobuf.Struct': { type: 'object', additionalProperties: true },
  'google.protobuf.Value': {},
};

function scalarSchema(scalar: ScalarType): JsonObject {
  switch (scalar) {
    case ScalarType.STRING:
      return { type: 'string' };
    case ScalarType.BOOL:
      return { type: 'boolean' };
    case ScalarType.DOUBLE:
      return { type: 'number' };
    case ScalarType.INT32:
      return { type: 'integer', format: 'int32' };
    case ScalarType.INT64:
      // A number where a JSON number is exact, as the codec writes it.
      return { type: ['integer', 'string'], format: 'int64' };
    default:
      throw new Error(`the JSON of this schema does not use ${ScalarType[scalar]}`);
  }
}

function describedBy(description: string): JsonObject {
  return description === '' ? {} : { description };
}

/** A field of a request is required if its comment says so. An answer has each member whose field always has a value. */
export function isRequired(field: DescField, use: Use): boolean {
  const name = `${field.parent.typeName}.${field.name}`;
  if (use === 'request') return /\bRequired[.:]/.test(commentOf(field)) || requiredInRequests.has(name);
  if (promised.has(name) || isAlwaysPresent(field)) return true;
  return field.fieldKind === 'scalar' && field.presence === FeatureSet_FieldPresence.IMPLICIT;
}
