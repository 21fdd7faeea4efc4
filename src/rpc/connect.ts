/** The services over Connect and gRPC-Web, by connect-node; and over gRPC where grpc-js cannot share the port. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Message } from '@bufbuild/protobuf';
import { type Code, ConnectError, type ConnectRouter, type HandlerContext } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { ErrorInfoSchema, RetryInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { type ParleyError, toParleyError } from '../core/errors.ts';
import type { RequestId } from '../core/ids.ts';
import type { Wire } from '../core/ports/store.ts';
import {
  type AnyRpc,
  CallClock,
  type IncomingCall,
  nextRequestId,
  type RpcDeps,
  serveBidi,
  serveClientStream,
  serveServerStream,
  serveUnary,
} from './serve.ts';
import { errorInfo, retryInfo, statusCode } from './status.ts';

export interface ConnectLimits {
  /** Bytes of a message after decompression. */
  readonly messageBytesMax: number;
  readonly requestMsMax: number;
}

export type RpcRequestHandler = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
) => void;

export function createConnectHandler(
  rpcs: readonly AnyRpc[],
  limits: ConnectLimits,
  deps: RpcDeps,
): RpcRequestHandler {
  return connectNodeAdapter({
    readMaxBytes: limits.messageBytesMax,
    maxTimeoutMs: limits.requestMsMax,
    routes: (router) => {
      for (const rpc of rpcs) addRpc(router, rpc, deps);
    },
  });
}

function addRpc(router: ConnectRouter, rpc: AnyRpc, deps: RpcDeps): void {
  const { method } = rpc;
  switch (method.methodKind) {
    case 'unary':
      router.rpc(method, (request, context) =>
        answer(context, deps, (incoming) => serveUnary(rpc, request, incoming, deps)),
      );
      break;
    case 'server_streaming':
      router.rpc(method, (request, context) =>
        stream(context, deps, (incoming) => serveServerStream(rpc, request, incoming, deps)),
      );
      break;
    case 'client_streaming':
      router.rpc(method, (requests, context) =>
        answer(context, deps, (incoming) => serveClientStream(rpc, requests, incoming, deps)),
      );
      break;
    case 'bidi_streaming':
      router.rpc(method, (requests, context) =>
        stream(context, deps, (incoming) => serveBidi(rpc, requests, incoming)),
      );
      break;
  }
}

async function answer(
  context: HandlerContext,
  deps: RpcDeps,
  run: (incoming: IncomingCall) => Promise<Message>,
): Promise<Message> {
  const { incoming, stop } = receive(context, deps);
  try {
    const response = await run(incoming);
    markReplay(context, incoming);
    return response;
  } catch (error) {
    throw connectError(error, incoming.id, deps);
  } finally {
    stop();
  }
}

async function* stream(
  context: HandlerContext,
  deps: RpcDeps,
  run: (incoming: IncomingCall) => AsyncIterable<Message>,
): AsyncGenerator<Message> {
  const { incoming, stop } = receive(context, deps);
  try {
    for await (const part of run(incoming)) {
      markReplay(context, incoming);
      yield part;
    }
  } catch (error) {
    throw connectError(error, incoming.id, deps);
  } finally {
    stop();
  }
}

function markReplay({ responseHeader }: HandlerContext, { isReplay }: IncomingCall): void {
  if (isReplay) responseHeader.set('idempotent-replayed', 'true');
}

const wires: Readonly<Record<string, Wire>> = { connect: 'connect', grpc: 'grpc', 'grpc-web': 'grpc-web' };

function receive(context: HandlerContext, deps: RpcDeps): { incoming: IncomingCall; stop: () => void } {
  const clock = new CallClock(deps.requestMsMax);
  const id = nextRequestId(deps);
  const cancel = () => clock.cancel();
  // Also when its deadline has passed.
  context.signal.addEventListener('abort', cancel);
  context.responseHeader.set('x-request-id', id);
  const { requestHeader, protocolName } = context;
  const incoming: IncomingCall = {
    id,
    wire: wires[protocolName] ?? 'connect',
    authorization: requestHeader.get('authorization') ?? undefined,
    idempotencyKey: requestHeader.get('idempotency-key') ?? undefined,
    signal: clock.signal,
    isReplay: false,
  };
  return {
    incoming,
    stop: () => {
      clock.stop();
      context.signal.removeEventListener('abort', cancel);
    },
  };
}

function connectError(thrown: unknown, id: RequestId, { log }: RpcDeps): ConnectError {
  const error: ParleyError = toParleyError(thrown);
  if (error.code === 'internal_error' || error.code === 'upstream_error') {
    log.error({ requestId: id, err: error.cause ?? error }, error.message);
  }
  const retry = retryInfo(error);
  const code: Code = statusCode(error);
  // The headers have the request's id already.
  return new ConnectError(error.message, code, undefined, [
    { desc: ErrorInfoSchema, value: errorInfo(error, id) },
    ...(retry ? [{ desc: RetryInfoSchema, value: retry }] : []),
  ]);
}
