/** The error of an RPC, read from its details. */
import type { Duration } from '@bufbuild/protobuf/wkt';
import type { ErrorInfo, RetryInfo } from '../../gen/google/rpc/error_details_pb.ts';
import { modelTypes } from '../../src/core/entities/model.ts';
import { adviceKinds } from '../../src/core/values/errors.ts';
import { restMessage } from '../../src/transports/rest/errors.ts';
import { cancelled, deadlineExceeded, type WireError } from './wire.ts';

/** Codes of google.rpc.Code by number. */
const cancelledCode = 1;
const deadlineExceededCode = 4;

interface RpcStatus {
  readonly code: number;
  readonly message: string;
  readonly info: ErrorInfo | undefined;
  readonly retry: RetryInfo | undefined;
}

export function toWireError({ code, message, info, retry }: RpcStatus): WireError {
  if (code === deadlineExceededCode && info?.reason !== 'upstream_error') return deadlineExceeded;
  if (code === cancelledCode && info === undefined) return cancelled;
  if (info !== undefined && info.domain !== 'parley')
    throw new Error(`an error of the domain ${info.domain}`);
  return {
    code: info?.reason ?? 'protocol',
    httpStatus: info && Number(info.metadata['http_status']),
    param: info?.metadata['param'],
    message: messageOf(message, info),
    retryAfterSeconds: secondsOf(retry?.retryDelay),
    grpcCode: code,
  };
}

/** RPCs and REST word the next step differently, both from the problem and the advice in the details. */
function messageOf(message: string, info: ErrorInfo | undefined): string {
  const { problem, advice, advice_type } = info?.metadata ?? {};
  if (problem === undefined) return message;
  if (!message.startsWith(problem))
    throw new Error(`the message \`${message}\` does not begin with the problem`);
  const kind = adviceKinds.find((known) => known === advice);
  const type = modelTypes.find((known) => known === advice_type);
  return restMessage({ message: problem, advice: kind && { kind, type } });
}

function secondsOf(delay: Duration | undefined): number | undefined {
  return delay && Number(delay.seconds) + delay.nanos / 1e9;
}
