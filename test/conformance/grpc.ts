import { fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import {
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  type ClientUnaryCall,
  type ClientWritableStream,
  credentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import { ErrorInfoSchema, RetryInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';
import { toWireError } from './rpc-error.ts';
import {
  pathOf,
  type Target,
  type WireAnswer,
  type WireCall,
  type WireClient,
  type WireError,
} from './wire.ts';

/** gRPC by grpc-js. */
export function openGrpc({ origin, ca }: Target): WireClient {
  const { host, protocol } = new URL(origin);
  const client = new Client(
    host,
    protocol === 'https:'
      ? credentials.createSsl(ca === undefined ? null : Buffer.from(ca))
      : credentials.createInsecure(),
  );
  return {
    name: 'gRPC',
    wire: 'grpc',
    call: (call) => callGrpc(client, call),
    close: async () => client.close(),
  };
}

function callGrpc(client: Client, call: WireCall): Promise<WireAnswer> {
  return new Promise((resolve) => {
    const messages: Message[] = [];
    let head = new Metadata();
    const end = (error: ServiceError | null) => {
      const [requestId] = head.get('x-request-id');
      const [replayed] = head.get('idempotent-replayed');
      resolve({
        messages,
        requestId: requestId?.toString(),
        isReplay: replayed === 'true',
        error: error === null ? undefined : errorOf(error),
      });
    };
    const onMessage = (message: Message) => {
      messages.push(message);
      call.onMessage?.();
    };
    const started = start(client, call, onMessage, end);
    call.signal?.addEventListener('abort', () => started.cancel());
    started.on('metadata', (metadata: Metadata) => {
      head = metadata;
    });
  });
}

type AnyClientCall =
  | ClientUnaryCall
  | ClientReadableStream<Message>
  | ClientWritableStream<Message>
  | ClientDuplexStream<Message, Message>;

function start(
  client: Client,
  { method, requests, headers, timeoutMs }: WireCall,
  onMessage: (message: Message) => void,
  onEnd: (error: ServiceError | null) => void,
): AnyClientCall {
  const serialize = (message: Message) => Buffer.from(toBinary(method.input, message));
  const deserialize = (bytes: Buffer): Message => fromBinary(method.output, bytes);
  const options = timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
  const onAnswer = (error: ServiceError | null, message?: Message) => {
    if (message) onMessage(message);
    onEnd(error);
  };
  const path = pathOf(method);
  const metadata = metadataOf(headers);
  const [request] = requests;
  if (method.methodKind === 'client_streaming') {
    const stream = client.makeClientStreamRequest(path, serialize, deserialize, metadata, options, onAnswer);
    for (const message of requests) stream.write(message);
    stream.end();
    return stream;
  }
  if (method.methodKind === 'bidi_streaming') {
    const stream = client.makeBidiStreamRequest(path, serialize, deserialize, metadata, options);
    for (const message of requests) stream.write(message);
    stream.end();
    stream.on('data', onMessage);
    stream.on('error', onEnd);
    return stream.on('end', () => onEnd(null));
  }
  if (request === undefined) throw new Error('the call has a request');
  if (method.methodKind === 'unary') {
    return client.makeUnaryRequest(path, serialize, deserialize, request, metadata, options, onAnswer);
  }
  const stream = client.makeServerStreamRequest(path, serialize, deserialize, request, metadata, options);
  stream.on('data', onMessage);
  stream.on('error', onEnd);
  return stream.on('end', () => onEnd(null));
}

function metadataOf(headers: WireCall['headers']): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
}

export function errorOf({ code, details, metadata }: ServiceError): WireError {
  const [packed] = metadata.get('grpc-status-details-bin');
  const status = packed instanceof Buffer ? fromBinary(StatusSchema, packed) : undefined;
  if (status && (status.code !== code || status.message !== details)) {
    throw new Error(`the status says ${code} ${details}, its details ${status.code} ${status.message}`);
  }
  const parts = status?.details ?? [];
  const info = parts.map((part) => anyUnpack(part, ErrorInfoSchema)).find((part) => part !== undefined);
  const retry = parts.map((part) => anyUnpack(part, RetryInfoSchema)).find((part) => part !== undefined);
  return toWireError({ code, message: details, info, retry });
}
