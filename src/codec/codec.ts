/**
 * Converts between the JSON of the REST API and the messages of the schema. In messages with an `other_members` field,
 * members that the schema does not name and their `null` values stay, at every depth. Codecs are built once, so that a
 * request costs only its own members.
 */
import type { DescMessage, JsonValue, MessageShape } from '@bufbuild/protobuf';
import { decoderOf, FieldError, type Place } from './decode.ts';
import { encoderOf } from './encode.ts';

/** A message, or the first member of the wrong type, in the order of the document. */
export type Decoded<T> =
  | { readonly message: T; readonly error?: undefined }
  | { readonly error: FieldError; readonly message?: undefined };

export interface JsonCodec<T> {
  /**
   * Decodes a request up to the first error: each member that the schema names must have its type. A document of
   * another kind than the schema's is an error with an empty path.
   * @param isStrict whether a path is checked; elsewhere members of other types are kept as they are. Default:
   * everywhere
   */
  decode(json: JsonValue, isStrict?: (path: string) => boolean): Decoded<T>;
  /**
   * Decodes JSON of another server. Keeps members of an unexpected type unchanged. JSON that is not an object decodes
   * as an empty one.
   */
  decodeLeniently(json: JsonValue): T;
  encode(message: T): JsonValue;
}

const everywhere = () => true;
const nowhere = () => false;

export function jsonCodec<Desc extends DescMessage>(schema: Desc): JsonCodec<MessageShape<Desc>> {
  const decoder = decoderOf(schema);
  const decode = (json: JsonValue, isStrict: Place['isStrict']) => {
    const place = { path: [], isStrict, isLenient: isStrict !== everywhere };
    return decoder(json, place) as MessageShape<Desc> | undefined;
  };
  const decodeLeniently = (json: JsonValue) =>
    decode(json, nowhere) ?? (decode({}, nowhere) as MessageShape<Desc>);
  return {
    decode: (json, isStrict = everywhere) => {
      try {
        return { message: decode(json, isStrict) ?? decodeLeniently({}) };
      } catch (error) {
        if (error instanceof FieldError) return { error };
        throw error;
      }
    },
    decodeLeniently,
    encode: encoderOf(schema),
  };
}
