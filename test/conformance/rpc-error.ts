/** An error of an RPC as its details tell it. */
import type { Duration } from '@bufbuild/protobuf/wkt';
import type { ErrorInfo, RetryInfo } from '../../gen/google/rpc/error_details_pb.ts';
import { cancelled, deadlineExceeded, type WireError } from './wire.ts';

/** Numbers of google.rpc.Code. */
const cancelledCode = 1;
const deadlineExceededCode = 4;

export interface RpcStatus {
  readonly code: number;
  readonly message: string;
  readonly info: ErrorInfo | undefined;
  readonly retry: RetryInfo | undefined;
}

export function toWireError({ code, message, info, retry }: RpcStatus): WireError {
  if (code === deadlineExceededCode) return deadlineExceeded;
  if (code === cancelledCode && info === undefined) return cancelled;
  if (info !== undefined && info.domain !== 'parley')
    throw new Error(`an error of the domain ${info.domain}`);
  return {
    code: info?.reason ?? 'protocol',
    httpStatus: info && Number(info.metadata['http_status']),
    param: info?.metadata['param'],
    message,
    retryAfterSeconds: secondsOf(retry?.retryDelay),
    grpcCode: code,
  };
}

function secondsOf(delay: Duration | undefined): number | undefined {
  return delay && Number(delay.seconds) + delay.nanos / 1e9;
}
