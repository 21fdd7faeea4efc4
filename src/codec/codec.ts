/**
 * Converts between the JSON of the REST API and the messages of the schema. A message with an `other_members` field keeps
 * members that the schema does not name, and their `null` values, at every depth. Codecs are built once from the
 * descriptors, so that the cost of a request depends on its own members only.
 */
import type { DescMessage, JsonValue, MessageShape } from '@bufbuild/protobuf';
import { decoderOf, type FieldError } from './decode.ts';
import { encoderOf } from './encode.ts';

export interface Decoded<T> {
  readonly message: T;
  /** Members of the wrong type, in the order of the document. The message lacks them. */
  readonly errors: readonly FieldError[];
}

export interface JsonCodec<T> {
  /**
   * Decodes a request: a member that the schema names must have its type. A document that is not an object (or an array,
   * for a message that is a list) is an error with an empty path.
   */
  decode(json: JsonValue): Decoded<T>;
  /** Decodes what another server wrote or will read: keeps members of an unexpected type as they are, with the unknown ones. */
  decodeLeniently(json: JsonValue): Decoded<T>;
  encode(message: T): JsonValue;
}

export function jsonCodec<Desc extends DescMessage>(schema: Desc): JsonCodec<MessageShape<Desc>> {
  const decode = (json: JsonValue, lenient: boolean): Decoded<MessageShape<Desc>> => {
    const errors: FieldError[] = [];
    const message = decoderOf(schema)(json, { path: '', lenient, errors });
    return {
      message: (message ?? decoderOf(schema)({}, { path: '', lenient, errors: [] })) as MessageShape<Desc>,
      errors,
    };
  };
  return {
    decode: (json) => decode(json, false),
    decodeLeniently: (json) => decode(json, true),
    encode: (message) => encoderOf(schema)(message),
  };
}
