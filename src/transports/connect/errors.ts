import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect';
import { ErrorInfoSchema, RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { errorInfo, retryInfo, rpcMessage, statusCode } from '../rpc/errors.ts';
import type { ServedCall } from '../run-call.ts';

/** The error for a client of Connect or gRPC-Web. If the client's own deadline has passed, keeps connect-node's error. */
export function connectError(thrown: unknown, { signal }: HandlerContext, served: ServedCall): ConnectError {
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
