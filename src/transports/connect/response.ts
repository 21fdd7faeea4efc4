/** Answers calls of Connect and gRPC-Web, in the forms that connect-node expects. */
import { constants, Http2ServerResponse } from 'node:http2';
import type { Message } from '@bufbuild/protobuf';
import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect';
import { ErrorInfoSchema, RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { errorInfo, retryInfo, rpcMessage, statusCode } from '../rpc/errors.ts';
import { type AnyRpc, answerRpc, streamRpc } from '../rpc/rpcs.ts';
import type { ServedCall } from '../run-call.ts';
import { type GatedCall, gatedKey, type Response } from './request.ts';

export async function answer(rpc: AnyRpc, context: HandlerContext): Promise<Message> {
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

export async function* stream(rpc: AnyRpc, context: HandlerContext): AsyncGenerator<Message> {
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
export function throwRefusal(context: HandlerContext): void {
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
