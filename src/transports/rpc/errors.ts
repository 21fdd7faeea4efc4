/** A ParleyError in the form of gRPC, Connect and gRPC-Web: its status code, and details for programs. */
import { create, toBinary } from '@bufbuild/protobuf';
import { anyPack, durationFromMs } from '@bufbuild/protobuf/wkt';
import { ErrorInfoSchema, RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../../gen/google/rpc/status_pb.ts';
import type { Advice, AdviceKind, GrpcCode, ParleyError } from '../../core/values/errors.ts';
import type { RequestId } from '../../core/values/ids.ts';

/** The domain of every ErrorInfo; its reason is the string code. */
const domain = 'parley';

/** Numbers of google.rpc.Code, the same in grpc-js and Connect. */
const codeNumbers: Readonly<Record<GrpcCode, number>> = {
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
};

export function statusCode({ grpcCode }: ParleyError): number {
  return codeNumbers[grpcCode];
}

const listModels = 'parley.catalog.v1.CatalogService/ListModels';

const callable = (type: Advice['type']) =>
  `${listModels}${typeText(type)} lists those that your key can call.`;

const words: Readonly<Record<AdviceKind, (type: Advice['type']) => string>> = {
  list_models: callable,
  choose_model: (type) =>
    `${callable(type)} For clients with built-in names the operator of this server can give models those names, as in examples/fixed-names.yaml.`,
  list_voices: (type) => `${listModels}${typeText(type)} lists its voices.`,
  send_key: () => 'Send it in the metadata as `authorization: Bearer <API_KEY>`.',
  open_subscription: () =>
    'The operator of this server opens one with AdminService/StartTrial or AdminService/ActivatePlan.',
  load_credits: () => 'The operator of this server loads more with AdminService/LoadCredits.',
};

function typeText(type: Advice['type']): string {
  return type === undefined ? '' : ` with type \`${type}\``;
}

/** The problem and the next step, in the words of RPCs. */
export function rpcMessage({ message, advice }: ParleyError): string {
  return advice === undefined ? message : `${message} ${words[advice.kind](advice.type)}`;
}

/**
 * ErrorInfo has the string code as its reason. Its metadata has the request's id, the HTTP status, the field, whether
 * the request must not be repeated, and problem and advice apart, for clients that write their own messages.
 */
export function errorInfo(error: ParleyError, requestId: RequestId) {
  const { code, param, httpStatus, message, advice, mustNotRepeat } = error;
  return create(ErrorInfoSchema, {
    reason: code,
    domain,
    metadata: {
      request_id: requestId,
      http_status: String(httpStatus),
      problem: message,
      ...(mustNotRepeat && { should_retry: 'false' }),
      ...(param !== undefined && { param }),
      ...(advice !== undefined && { advice: advice.kind }),
      ...(advice?.type !== undefined && { advice_type: advice.type }),
    },
  });
}

/** RetryInfo, for errors with a time to wait. */
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
    create(StatusSchema, { code: statusCode(error), message: rpcMessage(error), details }),
  );
}
