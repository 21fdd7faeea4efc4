/** A client of each wire that reads a streamed answer at its own pace. */
import { request as httpRequest } from 'node:http';
import { connect as connectHttp2, constants } from 'node:http2';
import { fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import type { Transport } from '@connectrpc/connect';
import {
  createConnectTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from '@connectrpc/connect-node';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import type { StreamChatCompletionRequest } from '../../gen/parley/chat/v1/chat_pb.ts';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import type { WireName } from './case.ts';
import { chatRequest } from './rest-operations.ts';
import { pathOf } from './wire.ts';

interface SlowReader {
  /** Reads this many pieces of the answer: messages, or chunks of a body. */
  take(pieces: number): Promise<void>;
  /** Ends the call. */
  leave(): void;
}

interface SlowCall {
  readonly origin: string;
  readonly authorization: string;
  readonly request: StreamChatCompletionRequest;
}

const method = ChatService.method.streamChatCompletion;

/** Opens a streamed chat without reading from it. */
export const slowReaders: Readonly<Record<WireName, (call: SlowCall) => Promise<SlowReader>>> = {
  REST: openHttp1,
  'REST over HTTP/2': openHttp2,
  'Connect JSON': ({ origin, ...call }) =>
    openTransport(
      createConnectTransport({ baseUrl: origin, httpVersion: '1.1', useBinaryFormat: false }),
      call,
    ),
  'Connect binary': ({ origin, ...call }) => {
    const sessionManager = new Http2SessionManager(origin);
    const transport = createConnectTransport({ baseUrl: origin, httpVersion: '2', sessionManager });
    return openTransport(transport, call, () => sessionManager.abort());
  },
  'gRPC-Web': ({ origin, ...call }) =>
    openTransport(createGrpcWebTransport({ baseUrl: origin, httpVersion: '1.1' }), call),
  gRPC: openGrpc,
};

async function openHttp1({ origin, authorization, request }: SlowCall): Promise<SlowReader> {
  const { path, body, method: verb } = chatRequest(request, true);
  const sent = httpRequest(origin + path, { method: verb, headers: { authorization } });
  sent.on('error', () => undefined);
  sent.end(body);
  const answer = Promise.withResolvers<AsyncIterable<unknown>>();
  sent.once('response', (response) => {
    response.on('error', () => undefined);
    answer.resolve(response);
  });
  return reader(await answer.promise, () => sent.destroy());
}

async function openHttp2({ origin, authorization, request }: SlowCall): Promise<SlowReader> {
  const { path, body } = chatRequest(request, true);
  const session = connectHttp2(origin);
  session.on('error', () => undefined);
  const stream = session.request({ ':method': 'POST', ':path': path, authorization });
  stream.on('error', () => undefined);
  stream.end(body);
  await new Promise((resolve) => stream.once('response', resolve));
  return reader(stream, () => {
    stream.close(constants.NGHTTP2_CANCEL);
    session.close();
  });
}

async function openTransport(
  transport: Transport,
  { authorization, request }: Omit<SlowCall, 'origin'>,
  close: () => void = () => undefined,
): Promise<SlowReader> {
  const leave = new AbortController();
  const response = await transport.stream(method, leave.signal, undefined, { authorization }, once(request));
  return reader(response.message, () => {
    leave.abort();
    close();
  });
}

async function* once<T>(item: T): AsyncGenerator<T> {
  yield item;
}

async function openGrpc({ origin, authorization, request }: SlowCall): Promise<SlowReader> {
  const client = new Client(new URL(origin).host, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set('authorization', authorization);
  const stream = client.makeServerStreamRequest(
    pathOf(method),
    (message: Message) => Buffer.from(toBinary(method.input, message as StreamChatCompletionRequest)),
    (bytes: Buffer): Message => fromBinary(method.output, bytes),
    request,
    metadata,
  );
  stream.on('error', () => undefined);
  return reader(stream, () => {
    stream.cancel();
    client.close();
  });
}

function reader(pieces: AsyncIterable<unknown>, leave: () => void): SlowReader {
  const iterator = pieces[Symbol.asyncIterator]();
  return {
    take: async (count) => {
      for (let taken = 0; taken < count; taken++) await iterator.next();
    },
    leave,
  };
}
