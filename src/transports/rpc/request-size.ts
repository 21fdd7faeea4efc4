import { type DescMessage, fromBinary, type Message, type MessageShape, toBinary } from '@bufbuild/protobuf';

const received = new WeakMap<Message, number>();

/** Decodes a request, and keeps in mind how many bytes it had. */
export function decodeRequest<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> {
  const request = fromBinary(schema, bytes);
  received.set(request, bytes.length);
  return request;
}

/** Bytes of a request in the binary form. Connect does not say what it had: it is encoded anew to be measured. */
export function sizeOfRequest(schema: DescMessage, request: Message): number {
  return received.get(request) ?? toBinary(schema, request).length;
}
