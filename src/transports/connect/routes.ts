/** The services over Connect and gRPC-Web, by connect-node; and over gRPC where grpc-js cannot share the port. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Message } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from '@connectrpc/connect';
import type { UniversalServerRequest } from '@connectrpc/connect/protocol';
import {
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from '@connectrpc/connect-node';
import { ErrorInfoSchema, RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import type { Batches } from '../../core/batches.ts';
import { Deadline } from '../../core/deadline.ts';
import { type ParleyError, toParleyError } from '../../core/errors.ts';
import { logFailure } from '../../core/failure-log.ts';
import type { RequestId } from '../../core/ids.ts';
import type { Wire } from '../../core/ports/usage.ts';
import { errorInfo, retryInfo, statusCode } from '../rpc/errors.ts';
import { joinPieces } from '../rpc/join-pieces.ts';
import {
  type AnyRpc,
  type IncomingCall,
  nextRequestId,
  type RpcDeps,
  serveBidi,
  serveClientStream,
  serveServerStream,
  serveUnary,
} from '../run-call.ts';

export interface ConnectLimits {
  /** Bytes of a message after decompression. */
  readonly messageBytesMax: number;
}

/** The longest that a timer can wait; a client may give more time than Parley's own limit. */
const timeoutMsMax = 2 ** 31 - 1;

type Request = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;
const responseKey = createContextKey<Response | undefined>(undefined);

export type RpcRequestHandler = (request: Request, response: Response) => void;

export function createConnectHandler(
  rpcs: readonly AnyRpc[],
  limits: ConnectLimits,
  deps: RpcDeps,
): RpcRequestHandler {
  const router = createConnectRouter({
    readMaxBytes: limits.messageBytesMax,
    maxTimeoutMs: timeoutMsMax,
    acceptCompression: [compressionGzip],
  });
  for (const rpc of rpcs) addRpc(router, rpc, deps);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  return (request, response) => {
    joinPieces(request);
    const handle = handlers.get(request.url ?? '');
    const received = toUniversal(request, response);
    if (handle === undefined || received === undefined) {
      response.statusCode = 400;
      response.end();
      return;
    }
    handle(received)
      .then((answer) => universalResponseToNodeResponse(answer, response))
      .catch((err: unknown) => {
        // Where the client has left, that is the reason, and the call knows.
        if (!received.signal.aborted) deps.log.error({ err }, 'an answer could not be written');
        response.destroy();
      });
  };
}

/** Undefined where the request names a host that is none: connect-node makes a URL of it. */
function toUniversal(request: Request, response: Response): UniversalServerRequest | undefined {
  const values = createContextValues().set(responseKey, response);
  try {
    return universalRequestFromNodeRequest(request, response, undefined, values);
  } catch {
    return undefined;
  }
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
    throw answerOf(error, context, incoming, deps);
  } finally {
    stop();
  }
}

async function* stream(
  context: HandlerContext,
  deps: RpcDeps,
  run: (incoming: IncomingCall) => Batches<Message>,
): AsyncGenerator<Message> {
  const { incoming, stop } = receive(context, deps);
  // Of a client that is still behind when the call is over nothing else would wake what waits for it.
  const giveUp = () => cut(context.values.get(responseKey));
  try {
    for await (const parts of run(incoming)) {
      markReplay(context, incoming);
      incoming.signal.addEventListener('abort', giveUp);
      for (const part of parts) {
        // Why, the source says when it is asked for more.
        if (incoming.signal.aborted) break;
        try {
          yield part;
        } catch {
          // The part could not be written: the client has left.
          return;
        }
      }
      incoming.signal.removeEventListener('abort', giveUp);
    }
  } catch (error) {
    throw answerOf(error, context, incoming, deps);
  } finally {
    incoming.signal.removeEventListener('abort', giveUp);
    stop();
  }
}

/** Ends the answer so that no client can take it for whole. */
function cut(response: Response | undefined): void {
  if (response instanceof Http2ServerResponse) response.stream.close(constants.NGHTTP2_CANCEL);
  else response?.destroy();
}

function markReplay({ responseHeader }: HandlerContext, { isReplay }: IncomingCall): void {
  if (isReplay) responseHeader.set('idempotent-replayed', 'true');
}

const wires: Readonly<Record<string, Wire>> = { connect: 'connect', grpc: 'grpc', 'grpc-web': 'grpc-web' };

function receive(context: HandlerContext, deps: RpcDeps): { incoming: IncomingCall; stop: () => void } {
  const clock = new Deadline(deps.requestMsMax);
  const id = nextRequestId(deps);
  const cancel = () => clock.cancel();
  // Also when its deadline has passed.
  context.signal.addEventListener('abort', cancel);
  if (context.signal.aborted) cancel();
  context.responseHeader.set('x-request-id', id);
  const { requestHeader, protocolName } = context;
  const incoming: IncomingCall = {
    id,
    wire: wires[protocolName] ?? 'connect',
    authorization: requestHeader.get('authorization') ?? undefined,
    traceHeaders: {
      traceparent: requestHeader.get('traceparent') ?? undefined,
      tracestate: requestHeader.get('tracestate') ?? undefined,
    },
    address: context.values.get(responseKey)?.socket?.remoteAddress ?? '',
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

/** What a client is told whose own deadline has passed is the protocol's to say. */
function answerOf(
  thrown: unknown,
  { signal }: HandlerContext,
  { id }: IncomingCall,
  deps: RpcDeps,
): ConnectError {
  const error = toParleyError(thrown);
  const reason: unknown = signal.reason;
  const isPast = reason instanceof ConnectError && reason.code === Code.DeadlineExceeded;
  return isPast && error.code === 'request_cancelled' ? reason : connectError(error, id, deps);
}

function connectError(error: ParleyError, id: RequestId, { log }: RpcDeps): ConnectError {
  logFailure(log, id, error);
  const retry = retryInfo(error);
  const code: Code = statusCode(error);
  // The headers have the request's id already.
  return new ConnectError(error.message, code, undefined, [
    { desc: ErrorInfoSchema, value: errorInfo(error, id) },
    ...(retry ? [{ desc: RetryInfoSchema, value: retry }] : []),
  ]);
}
