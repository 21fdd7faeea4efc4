/** The JSON of answers of the Messages API, with all members that its clients' types require. */
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import {
  type Message,
  type MessageEvent,
  MessageEventSchema,
  MessageSchema,
} from '../../gen/parley/messages/v1/messages_pb.ts';
import { isObject } from '../core/values/json.ts';
import { jsonCodec } from './codec.ts';

const promisedAtEnd: JsonObject = { stop_reason: null, stop_sequence: null };

const messageCodec = jsonCodec(MessageSchema);
const eventCodec = jsonCodec(MessageEventSchema);

export function encodeMessage(message: Message): JsonObject {
  return { ...promisedAtEnd, ...objectOf(messageCodec.encode(message)) };
}

export function encodeMessageEvent(event: MessageEvent): JsonObject {
  const json = objectOf(eventCodec.encode(event));
  if (event.message) return { ...json, message: encodeMessage(event.message) };
  if (event.type !== 'message_delta') return json;
  return { ...json, delta: { ...promisedAtEnd, ...objectOf(json['delta']) } };
}

/** The JSON is the encoder's own. */
function objectOf(json: JsonValue | undefined): JsonObject {
  if (!isObject(json)) throw new Error('an answer is not an object');
  return json;
}
