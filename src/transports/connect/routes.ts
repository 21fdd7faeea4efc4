/** The services over Connect and gRPC-Web, by connect-node; and over gRPC on HTTP/1.1. */
import { type ConnectRouter, createConnectRouter, createContextValues } from '@connectrpc/connect';
import { compressionGzip, universalResponseToNodeResponse } from '@connectrpc/connect-node';
import { drainBody } from '../http/drain-body.ts';
import type { PortHandler } from '../http/server.ts';
import { joinPieces } from '../rpc/join-pieces.ts';
import { type AnyRpc, rpcPath } from '../rpc/rpcs.ts';
import { type CallDeps, ServedCall } from '../run-call.ts';
import { gatedKey, headOf, type Response, toUniversal, withoutBody } from './request.ts';
import { answer, stream } from './response.ts';

export interface ConnectLimits {
  /** Bytes of a message after decompression. */
  readonly messageBytesMax: number;
}

/** The longest timer that Node has; a client may allow more time than Parley's own limit. */
const timeoutMsMax = 2 ** 31 - 1;

/** Asks the gate with the headers alone; only an opened call's body is read. */
export function createConnectHandler(
  rpcs: readonly AnyRpc[],
  limits: ConnectLimits,
  deps: CallDeps,
): PortHandler {
  const router = createConnectRouter({
    readMaxBytes: limits.messageBytesMax,
    maxTimeoutMs: timeoutMsMax,
    acceptCompression: [compressionGzip],
  });
  for (const rpc of rpcs) addRpc(router, rpc);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  const byPath = new Map(rpcs.map((rpc) => [rpcPath(rpc), rpc]));
  return (request, response) => {
    const path = request.url ?? '';
    const [rpc, handle] = [byPath.get(path), handlers.get(path)];
    if (rpc === undefined || handle === undefined) return refuseUnserved(response);
    const served = new ServedCall(headOf(request), deps);
    response.setHeader('x-request-id', served.id);
    response.once('close', () => served.close(!response.writableEnded));
    const run = (refusal: unknown) => {
      const values = createContextValues().set(gatedKey, { served, refusal, response });
      const received = toUniversal(request, response, values);
      if (received === undefined) return refuseUnserved(response);
      if (refusal === undefined) {
        if (request.headers.expect !== undefined) response.writeContinue();
        joinPieces(request);
      } else {
        drainBody(request);
      }
      handle(refusal === undefined ? received : withoutBody(received))
        .then((answered) => universalResponseToNodeResponse(answered, response))
        .catch((err: unknown) => {
          // A client that has left is the reason, and its call has ended with that.
          if (!received.signal.aborted) deps.log.error({ err }, 'an answer could not be written');
          response.destroy();
        });
    };
    const open = rpc.kind === 'open' ? Promise.resolve() : served.open(rpc);
    open.then(() => run(undefined), run);
  };
}

function refuseUnserved(response: Response): void {
  response.statusCode = 400;
  response.end();
}

function addRpc(router: ConnectRouter, rpc: AnyRpc): void {
  const { method } = rpc;
  switch (method.methodKind) {
    case 'unary':
      router.rpc(method, (request, context) => answer(rpc, request, context), optionsOf(rpc));
      break;
    case 'client_streaming':
      router.rpc(method, (requests, context) => answer(rpc, requests, context));
      break;
    case 'server_streaming':
      router.rpc(method, (request, context) => stream(rpc, request, context));
      break;
    case 'bidi_streaming':
      router.rpc(method, (requests, context) => stream(rpc, requests, context));
      break;
  }
}

/** A misspelt field must not be ignored where it decides about a key. Other requests may be newer than this server. */
function optionsOf({ kind }: AnyRpc) {
  return kind === 'admin' ? { jsonOptions: { ignoreUnknownFields: false } } : {};
}
