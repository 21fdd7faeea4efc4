/** Connect and gRPC-Web by connect-node. Only their transports differ. */
import type { Message } from '@bufbuild/protobuf';
import { ConnectError, type Transport } from '@connectrpc/connect';
import {
  createConnectTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from '@connectrpc/connect-node';
import { ErrorInfoSchema, RetryInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { toWireError } from './rpc-error.ts';
import type { Target, WireAnswer, WireCall, WireClient } from './wire.ts';

/** Connect with JSON over HTTP/1.1, as in browsers. */
export function openConnectJson({ origin, ca }: Target): WireClient {
  const transport = createConnectTransport({
    baseUrl: origin,
    httpVersion: '1.1',
    useBinaryFormat: false,
    ...(ca !== undefined && { nodeOptions: { ca } }),
  });
  return {
    name: 'Connect JSON',
    wire: 'connect',
    call: (call) => callTransport(transport, call),
    close: async () => undefined,
  };
}

/** Connect with protobuf over HTTP/2. */
export function openConnectBinary({ origin, ca }: Target): WireClient {
  const sessionManager = new Http2SessionManager(origin, {}, ca === undefined ? {} : { ca });
  const transport = createConnectTransport({ baseUrl: origin, httpVersion: '2', sessionManager });
  return {
    name: 'Connect binary',
    wire: 'connect',
    call: (call) => callTransport(transport, call),
    close: async () => sessionManager.abort(),
  };
}

/** gRPC-Web over HTTP/1.1. */
export function openGrpcWeb({ origin, ca }: Target): WireClient {
  const transport = createGrpcWebTransport({
    baseUrl: origin,
    httpVersion: '1.1',
    ...(ca !== undefined && { nodeOptions: { ca } }),
  });
  return {
    name: 'gRPC-Web',
    wire: 'grpc-web',
    call: (call) => callTransport(transport, call),
    close: async () => undefined,
  };
}

async function callTransport(transport: Transport, call: WireCall): Promise<WireAnswer> {
  const messages: Message[] = [];
  let header = new Headers();
  const answer = (error?: WireAnswer['error']): WireAnswer => ({
    messages,
    requestId: header.get('x-request-id') ?? undefined,
    isReplay: header.get('idempotent-replayed') === 'true',
    error,
  });
  try {
    for await (const message of receive(transport, call, (received) => {
      header = received;
    })) {
      messages.push(message);
      call.onMessage?.();
    }
    return answer();
  } catch (thrown) {
    const error = ConnectError.from(thrown);
    if (!header.has('x-request-id')) header = error.metadata;
    const [info] = error.findDetails(ErrorInfoSchema);
    const [retry] = error.findDetails(RetryInfoSchema);
    return answer(toWireError({ code: error.code, message: error.rawMessage, info, retry }));
  }
}

async function* receive(
  transport: Transport,
  { method, requests, headers, timeoutMs, signal }: WireCall,
  onHeader: (header: Headers) => void,
): AsyncGenerator<Message> {
  if (method.methodKind === 'unary') {
    const [request] = requests;
    if (request === undefined) throw new Error('a unary call has one request');
    const response = await transport.unary(method, signal, timeoutMs, headers, request);
    onHeader(response.header);
    yield response.message;
    return;
  }
  const response = await transport.stream(method, signal, timeoutMs, headers, each(requests));
  onHeader(response.header);
  yield* response.message;
}

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}
