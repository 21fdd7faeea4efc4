/** A ParleyError as gRPC and Connect tell it: a code of the one table, and details that a program can read. */
import { create, toBinary } from '@bufbuild/protobuf';
import { anyPack, durationFromMs } from '@bufbuild/protobuf/wkt';
import { ErrorInfoSchema, RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../../gen/google/rpc/status_pb.ts';
import { errorTable, type GrpcCode, type ParleyError } from '../../core/errors.ts';
import type { RequestId } from '../../core/ids.ts';

/** The domain of every ErrorInfo; its reason is the string code. */
const domain = 'parley';

/** Numbers of google.rpc.Code, the same in grpc-js and Connect. */
const codeNumbers: Readonly<Record<GrpcCode, number>> = {
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
};

export function statusCode({ code }: ParleyError): number {
  return codeNumbers[errorTable[code].grpc];
}

/** ErrorInfo with the code, the field and the request's id; RetryInfo where there is a time to wait. */
export function errorInfo({ code, param, httpStatus }: ParleyError, requestId: RequestId) {
  return create(ErrorInfoSchema, {
    reason: code,
    domain,
    metadata: {
      request_id: requestId,
      http_status: String(httpStatus),
      ...(param !== undefined && { param }),
    },
  });
}

export function retryInfo({ retryAfterSeconds }: ParleyError) {
  if (retryAfterSeconds === undefined) return undefined;
  return create(RetryInfoSchema, { retryDelay: durationFromMs(retryAfterSeconds * 1000) });
}

/** The bytes of `grpc-status-details-bin`. */
export function statusDetails(error: ParleyError, requestId: RequestId): Uint8Array {
  const retry = retryInfo(error);
  const details = [
    anyPack(ErrorInfoSchema, errorInfo(error, requestId)),
    ...(retry ? [anyPack(RetryInfoSchema, retry)] : []),
  ];
  return toBinary(
    StatusSchema,
    create(StatusSchema, { code: statusCode(error), message: error.message, details }),
  );
}
