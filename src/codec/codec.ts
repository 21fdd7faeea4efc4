/**
 * Converts between the JSON of the REST API and the messages of the schema. In messages with an `other_members` field,
 * members that the schema does not name and their `null` values stay, at every depth. Codecs are built once, so that a
 * request costs only its own members.
 */
import type { DescMessage, JsonValue, MessageShape } from '@bufbuild/protobuf';
import { type CodeOf, decoderOf } from './decode.ts';
import { encoderOf } from './encode.ts';

export interface JsonCodec<T> {
  /**
   * Decodes a request: each member that the schema names must have its type.
   * @throws the error of the first member of another type, in the order of the document. Default: all are `invalid_parameter`
   */
  decode(json: JsonValue, codeOf?: CodeOf): T;
  /**
   * Decodes JSON of another server. Keeps members of an unexpected type unchanged. JSON that is not an object decodes
   * as an empty one.
   */
  decodeLeniently(json: JsonValue): T;
  encode(message: T): JsonValue;
}

export function jsonCodec<Desc extends DescMessage>(schema: Desc): JsonCodec<MessageShape<Desc>> {
  const decoder = decoderOf(schema);
  const decode = (json: JsonValue, codeOf: CodeOf) =>
    (decoder(json, { path: [], codeOf }) ?? decoder({}, { path: [], codeOf })) as MessageShape<Desc>;
  return {
    decode: (json, codeOf = () => 'invalid_parameter') => decode(json, codeOf),
    decodeLeniently: (json) => decode(json, () => undefined),
    encode: encoderOf(schema),
  };
}
