/** Calls RPCs over a transport of connect-node; Connect and gRPC-Web differ in nothing else. */
import type { Message } from '@bufbuild/protobuf';
import { ConnectError, type Transport } from '@connectrpc/connect';
import { ErrorInfoSchema, RetryInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { toWireError } from './rpc-error.ts';
import type { WireAnswer, WireCall } from './wire.ts';

export async function callTransport(transport: Transport, call: WireCall): Promise<WireAnswer> {
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
