/** Serves the RPCs over Connect and gRPC-Web, and over gRPC on HTTP/1.1, with connect-node. */
import { constants, Http2ServerResponse } from 'node:http2';
import type { Message } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  createConnectRouter,
  createContextValues,
  type HandlerContext,
} from '@connectrpc/connect';
import type { UniversalHandlerFn } from '@connectrpc/connect/protocol';
import { compressionGzip, universalResponseToNodeResponse } from '@connectrpc/connect-node';
import { ErrorInfoSchema, RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import type { Log } from '../../core/values/log.ts';
import { refuseRequest } from '../http/bad-request.ts';
import { drainBody } from '../http/drain-body.ts';
import { keepOpen } from '../http/http2-stream.ts';
import { noSniff } from '../http/no-sniff.ts';
import type { PortHandler } from '../http/server.ts';
import type { Headers } from '../rate-headers.ts';
import { pathOf } from '../request-head.ts';
import { errorInfo, retryInfo, rpcMessage, statusCode } from '../rpc/errors.ts';
import { joinPieces } from '../rpc/join-pieces.ts';
import { noSuchMethod } from '../rpc/request-errors.ts';
import {
  type AnyRpc,
  answerRpc,
  bodyBytesMax,
  messageForm,
  type RpcLimits,
  rpcPath,
  streamRpc,
} from '../rpc/rpcs.ts';
import { readTimeout, type Timeout } from '../rpc/timeout.ts';
import { type CallDeps, ServedCall } from '../run-call.ts';
import {
  admitBody,
  type GatedCall,
  gatedKey,
  headOf,
  type Request,
  type Response,
  receiveFrom,
  toUniversal,
} from './request.ts';
import { answerable, isStreamed, refusalOf } from './wrong-path.ts';

/** Node's longest timer. Clients may allow more time than Parley's own limit. */
const timeoutMsMax = 2 ** 31 - 1;

/**
 * Asks the gate with the headers alone, and reads the body only of a call that the gate opens.
 * @param options of connect-node; limits and gate cannot be changed
 */
export function createConnectHandler(
  rpcs: readonly AnyRpc[],
  limits: RpcLimits,
  deps: CallDeps,
  options: ConnectRouterOptions = {},
): PortHandler {
  const settings = {
    ...options,
    maxTimeoutMs: timeoutMsMax,
    acceptCompression: [compressionGzip],
    requestGate: throwRefusal,
  };
  const handlers = new Map<AnyRpc, UniversalHandlerFn>();
  const byPath = new Map(rpcs.map((rpc) => [rpcPath(rpc), rpc]));
  const firstOf = (kind: AnyRpc['method']['methodKind']): AnyRpc => {
    const first = rpcs.find(({ method }) => method.methodKind === kind);
    if (first === undefined) throw new Error(`no RPC is ${kind}`);
    return first;
  };
  // REST refuses requests for paths without an RPC.
  const [anyUnary, anyStream] = [firstOf('unary'), firstOf('server_streaming')];
  // Made at its first call, as all of them take 1 MB.
  const handlerOf = (rpc: AnyRpc) => {
    let handler = handlers.get(rpc);
    if (handler === undefined) {
      const router = createConnectRouter(settings);
      addRpc(router, rpc);
      [handler] = router.handlers;
      if (handler === undefined) throw new Error(`${rpc.method} has no handler`);
      handlers.set(rpc, handler);
    }
    return handler;
  };
  return (request, response, client) => {
    const found = byPath.get(pathOf(request.url));
    const rpc = found ?? (isStreamed(request) ? anyStream : anyUnary);
    const head = headOf(request, client);
    const served = new ServedCall(head, deps, rpc.kind);
    response.setHeader(...noSniff);
    response.setHeader('x-request-id', served.id);
    response.once('close', () => served.close(!response.writableEnded));
    const form = messageForm(rpc, limits);
    const bytesMax = bodyBytesMax(rpc, limits.messageBytesMax);
    const handle = { serve: handlerOf(rpc), refuse: handlerOf(anyUnary) };
    const isServed = found !== undefined;
    const answer = (refusal: unknown, timeout?: Timeout) => {
      const receive = () => receiveFrom(request, form, bytesMax, served, options.jsonOptions);
      const gated = { served, refusal, response, timeout, receive };
      return serve(handle, { request, isStream: form.isStream, gated, isServed }, deps.log);
    };
    const open = async () => {
      if (!isServed) return served.refuseUnserved(noSuchMethod());
      try {
        await served.open(rpc);
      } finally {
        setHeaders(response, served.rateHeaders);
      }
      if (rpc.kind === 'session' && 'stream' in request) keepOpen(request.stream);
      const timeout = readTimeout(head);
      if (bytesMax !== undefined) await admitBody(request, served, bytesMax);
      return timeout;
    };
    open().then((timeout) => answer(undefined, timeout), answer);
  };
}

function setHeaders(response: Response, headers: Headers): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

interface Arrival {
  readonly request: Request;
  /** Whether the request is a stream of messages, rather than one. */
  readonly isStream: boolean;
  readonly gated: GatedCall;
  /** Whether the path is that of an RPC. */
  readonly isServed: boolean;
}

interface Handlers {
  readonly serve: UniversalHandlerFn;
  /** Sends the refusal of any request, in the form of Connect or gRPC-Web. */
  readonly refuse: UniversalHandlerFn;
}

/** Answers a call that the gate has opened or refused. Never rejects. */
async function serve(
  handlers: Handlers,
  { request, isStream, gated, isServed }: Arrival,
  log: Log,
): Promise<void> {
  const { served, refusal, response } = gated;
  if (served.isClosed) return;
  const received = toUniversal(request, gated, isStream);
  if (received === undefined) return refuseRequest(request, response, 400);
  const handleAs = (call: GatedCall, handle = handlers.serve, form = received) =>
    handle({ ...form, contextValues: createContextValues().set(gatedKey, call) });
  // The response itself reports its end only when the stream closes.
  const written = response instanceof Http2ServerResponse ? response.stream : response;
  // Before Node closes the connection.
  written.prependOnceListener('finish', () => drainBody(request));
  try {
    if (refusal === undefined) acceptBody(request, response);
    const answered = await handleAs(gated);
    const foreign = refusalOf(answered.status);
    const call = isServed && foreign ? { ...gated, refusal: foreign } : gated;
    const inForm = foreign ? await handleAs(call, handlers.refuse, answerable(received)) : answered;
    const status = isServed ? answered.status : statusOfWrongPath(inForm.status);
    await universalResponseToNodeResponse({ ...inForm, status }, response);
  } catch (err) {
    // If the client has left, its call has already ended.
    if (!received.signal.aborted) log.error({ err }, 'an answer could not be written');
    response.destroy();
  }
}

/** connect-node answers the code `unimplemented` with 501. */
function statusOfWrongPath(status: number): number {
  return status === 501 ? 404 : status;
}

function acceptBody(request: Request, response: Response): void {
  if (request.headers.expect !== undefined) response.writeContinue();
  joinPieces(request);
}

function addRpc(router: ConnectRouter, rpc: AnyRpc): void {
  const { method } = rpc;
  switch (method.methodKind) {
    case 'unary':
      router.rpc(method, (_, context) => answer(rpc, context));
      break;
    case 'client_streaming':
      router.rpc(method, async (requests, context) => {
        await readEnd(requests);
        return answer(rpc, context);
      });
      break;
    case 'server_streaming':
      router.rpc(method, (_, context) => stream(rpc, context));
      break;
    case 'bidi_streaming':
      router.rpc(method, async function* (requests, context) {
        await readEnd(requests);
        yield* stream(rpc, context);
      });
      break;
  }
}

/** Reads the empty stream that connect-node has. @throws its error for a compression that it does not know */
async function readEnd(requests: AsyncIterable<Message>): Promise<void> {
  await requests[Symbol.asyncIterator]().next();
}

async function answer(rpc: AnyRpc, context: HandlerContext): Promise<Message> {
  const { served, receive, release } = take(context);
  try {
    const response = await answerRpc(rpc, await receive(), served);
    setAnswerHeaders(context, served);
    return response;
  } catch (error) {
    throw connectError(error, context, served);
  } finally {
    release();
  }
}

async function* stream(rpc: AnyRpc, context: HandlerContext): AsyncGenerator<Message> {
  const { served, response, receive, release } = take(context);
  // Unblocks writes to a slow client when the call is aborted.
  const giveUp = () => cut(response);
  try {
    const { batches, toMessage } = streamRpc(rpc, await receive(), served);
    for await (const parts of batches) {
      setAnswerHeaders(context, served);
      if (parts.length === 0) sendHead(response, context);
      served.signal.addEventListener('abort', giveUp);
      for (const part of parts) {
        // The source throws the reason when the next part is requested.
        if (served.signal.aborted) break;
        try {
          yield toMessage(part);
        } catch {
          // The part could not be written: the client has left.
          return;
        }
      }
      served.signal.removeEventListener('abort', giveUp);
    }
  } catch (error) {
    throw connectError(error, context, served);
  } finally {
    served.signal.removeEventListener('abort', giveUp);
    release();
  }
}

/** Ends a call that the gate refused before connect-node reads its body. */
function throwRefusal(context: HandlerContext): void {
  const { served, refusal } = gatedOf(context);
  if (refusal !== undefined) throw connectError(refusal, context, served);
}

function gatedOf({ values }: HandlerContext): GatedCall {
  const gated = values.get(gatedKey);
  if (gated === undefined) throw new Error('a call reached its handler without passing the gate');
  return gated;
}

/** The gated call of a context, bound to the client's deadline. */
function take(context: HandlerContext): GatedCall & { readonly release: () => void } {
  const gated = gatedOf(context);
  const { served } = gated;
  const cancel = () => served.cancel();
  context.signal.addEventListener('abort', cancel);
  if (context.signal.aborted) cancel();
  return {
    ...gated,
    release: () => {
      served.finish();
      context.signal.removeEventListener('abort', cancel);
    },
  };
}

/** Resets the connection or stream, so that no client takes the answer for complete. */
function cut(response: Response): void {
  if (response instanceof Http2ServerResponse) response.stream.close(constants.NGHTTP2_CANCEL);
  else response.destroy();
}

/** Sends the head of a stream before its first message, with which connect-node would send it. */
function sendHead(response: Response, { responseHeader }: HandlerContext): void {
  if (response.headersSent || response.destroyed) return;
  const head = Object.fromEntries(responseHeader);
  if (response instanceof Http2ServerResponse) response.writeHead(200, head);
  else response.writeHead(200, head).flushHeaders();
  Object.assign(response, { writeHead: () => response });
}

function setAnswerHeaders({ responseHeader }: HandlerContext, { answerHeaders }: ServedCall): void {
  for (const [name, value] of Object.entries(answerHeaders)) responseHeader.set(name, value);
}

/** The error for a client of Connect or gRPC-Web. If the client's own deadline has passed, keeps connect-node's error. */
function connectError(thrown: unknown, { signal }: HandlerContext, served: ServedCall): ConnectError {
  const error = served.errorOf(thrown);
  const reason: unknown = signal.reason;
  const isPast = reason instanceof ConnectError && reason.code === Code.DeadlineExceeded;
  if (isPast && error.code === 'request_cancelled') return reason;
  const retry = retryInfo(error);
  const code: Code = statusCode(error);
  return new ConnectError(rpcMessage(error), code, undefined, [
    { desc: ErrorInfoSchema, value: errorInfo(error, served.id) },
    ...(retry ? [{ desc: RetryInfoSchema, value: retry }] : []),
  ]);
}
