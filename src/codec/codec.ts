/**
 * Between the JSON of the REST paths, and of servers that speak the same, and the messages of the schema. What the
 * schema does not name keeps its place, at every depth, where the message says so (`other_members`); `null` and absent
 * stay apart there. Codecs are built once from the descriptors, so a request pays for its own members only.
 */
import type { DescMessage, JsonValue, MessageShape } from '@bufbuild/protobuf';
import { decoderOf } from './decode.ts';
import { encoderOf } from './encode.ts';
import type { FieldError } from './field-errors.ts';

export interface Decoded<T> {
  readonly message: T;
  /** Members of the wrong kind, in the order of the document; the message is without them. */
  readonly errors: readonly FieldError[];
}

export interface JsonCodec<T> {
  /**
   * Takes a request: a member that the schema names must be of its kind. A document that is not of the message's form
   * at all is an error with an empty path.
   */
  decode(json: JsonValue): Decoded<T>;
  /** Takes an answer of another server: a member of an unexpected kind is kept as it is, beside the unknown ones. */
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
