/** The JSON Schemas of messages, as the codec writes and reads them. */
import { type DescField, type DescMessage, type JsonObject, ScalarType } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import { formOf, isAlwaysPresent, objectShape, onlyField } from '../../src/codec/shape.ts';
import { fieldKeywords, moreMembers, nullable, promised } from './rest-forms.ts';
import { ref } from './rest-schemas.ts';
import { capitalised, commentOf, packageWord } from './schemas.ts';

/** Whether clients or the server write a message. One that both write has no required members. */
type Use = 'request' | 'response';

interface Described {
  readonly message: DescMessage;
  readonly uses: Set<Use>;
}

/** Collects the messages of operations. Each is described once, under its own name. */
export class Components {
  readonly #described = new Map<string, Described>();

  /** Adds a message and all that it contains. */
  add(message: DescMessage, use: Use): void {
    const known = this.#described.get(message.typeName) ?? { message, uses: new Set() };
    if (wellKnown[message.typeName] !== undefined || known.uses.has(use)) return;
    known.uses.add(use);
    this.#described.set(message.typeName, known);
    for (const field of objectShape(message).fields) {
      if (field.message !== undefined) this.add(field.message, use);
    }
  }

  schemas(): JsonObject {
    const all = [...this.#described.values()].sort((a, b) =>
      this.nameOf(a.message).localeCompare(this.nameOf(b.message), 'en'),
    );
    return Object.fromEntries(
      all.map(({ message, uses }) => [this.nameOf(message), this.#schema(message, uses)]),
    );
  }

  /** The name of a message without its package; messages of administration that share it have a prefix. */
  nameOf(message: DescMessage): string {
    const isShared = [...this.#described.values()].some(
      ({ message: other }) => other.name === message.name && other.typeName !== message.typeName,
    );
    return isShared ? capitalised(packageWord(message.typeName)) + message.name : message.name;
  }

  ref(message: DescMessage): JsonObject {
    return wellKnown[message.typeName] ?? ref(this.nameOf(message));
  }

  /** The schema of an object with some of a message's fields. */
  object(message: DescMessage, fields: readonly DescField[], uses: ReadonlySet<Use>): JsonObject {
    const { other } = objectShape(message);
    const members = fields.map((field) => [field.jsonName, this.field(field)]);
    const required = fields.filter((field) => isRequired(field, uses)).map(({ jsonName }) => jsonName);
    return {
      type: 'object',
      ...describedBy(commentOf(message)),
      ...(required.length > 0 && { required }),
      properties: { ...Object.fromEntries(members), ...moreMembers[message.typeName] },
      ...(other !== undefined && { additionalProperties: true }),
    };
  }

  field(field: DescField): JsonObject {
    const name = `${field.parent.typeName}.${field.name}`;
    const schema = { ...this.#valueOf(field), ...fieldKeywords[name] };
    const described = describedBy(commentOf(field));
    if (!nullable.has(name)) return { ...schema, ...described };
    return { anyOf: [schema, { type: 'null' }], ...described };
  }

  #schema(message: DescMessage, uses: ReadonlySet<Use>): JsonObject {
    const described = describedBy(commentOf(message));
    switch (formOf(message)) {
      case 'union':
        return { ...described, anyOf: message.fields.map((field) => this.field(field)) };
      case 'list':
        return { ...described, ...this.field(onlyField(message)) };
      case 'object':
        return this.object(message, objectShape(message).fields, uses);
    }
  }

  #valueOf(field: DescField): JsonObject {
    switch (field.fieldKind) {
      case 'scalar':
        return scalarSchema(field.scalar);
      case 'message':
        return this.ref(field.message);
      case 'list':
        return { type: 'array', items: this.#elementOf(field) };
      case 'map':
        return { type: 'object', additionalProperties: this.#elementOf(field) };
      case 'enum':
        throw new Error(`${field} is an enum, which the JSON of this schema does not use`);
    }
  }

  #elementOf(field: DescField & { readonly fieldKind: 'list' | 'map' }): JsonObject {
    if (field.message !== undefined) return this.ref(field.message);
    if (field.scalar !== undefined) return scalarSchema(field.scalar);
    throw new Error(`${field} has enums, which the JSON of this schema does not use`);
  }
}

/** Messages of Google with a JSON of their own. */
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
      // A number where that is exact: see the codec.
      return { type: ['integer', 'string'], format: 'int64' };
    default:
      throw new Error(`the JSON of this schema does not use ${ScalarType[scalar]}`);
  }
}

function describedBy(description: string): JsonObject {
  return description === '' ? {} : { description };
}

/** A request's field says so in its comment. An answer has every member whose field always has a value. */
function isRequired(field: DescField, uses: ReadonlySet<Use>): boolean {
  if (uses.size > 1) return false;
  if (uses.has('request')) return /\bRequired[.:]/.test(commentOf(field));
  if (promised.has(`${field.parent.typeName}.${field.name}`) || isAlwaysPresent(field)) return true;
  return field.fieldKind === 'scalar' && field.presence === FeatureSet_FieldPresence.IMPLICIT;
}
