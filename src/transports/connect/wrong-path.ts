/** Requests with a path, method or type that no RPC has: decides which are meant for RPCs, and how to answer them. */
import type { UniversalServerRequest } from '@connectrpc/connect/protocol';
import { ParleyError } from '../../core/values/errors.ts';
import type { AnyRpc } from '../rpc/rpcs.ts';
import type { Request } from './request.ts';

const rpcTypes = /^application\/(connect\+|grpc)/i;

/**
 * Recognises requests meant for an RPC by their type, by the header that Connect's clients send, or by the name of a
 * service. Others are REST's.
 */
export function meantForRpcs(rpcs: readonly AnyRpc[]): (request: Request) => boolean {
  const services = new Set(rpcs.map(({ method }) => method.parent.typeName));
  return ({ headers, url = '' }) =>
    rpcTypes.test(headers['content-type'] ?? '') ||
    headers['connect-protocol-version'] !== undefined ||
    services.has(url.split('/')[1] ?? '');
}

/** Whether the type is for Connect's streams, whose errors have another form. */
export function isStreamed({ headers }: Request): boolean {
  return /^application\/connect\+/i.test(headers['content-type'] ?? '');
}

const messages = {
  405: 'This is the path of an RPC. Send its message with POST.',
  415: 'This is the path of an RPC. Send its message as application/json, or as another type of Connect or gRPC-Web.',
};

/** The error for a status that connect-node sends without a body; undefined for other statuses. */
export function refusalOf(status: number): ParleyError | undefined {
  if (status !== 405 && status !== 415) return undefined;
  return new ParleyError('invalid_request_error', { httpStatus: status, message: messages[status] });
}

/** The same request with the method and the nearest type for which connect-node can send an error. */
export function answerable(request: UniversalServerRequest): UniversalServerRequest {
  const [type = 'json'] = /grpc-web|grpc/i.exec(request.header.get('content-type') ?? '') ?? [];
  const header = new Headers({ 'content-type': `application/${type}` });
  return { ...request, method: 'POST', header };
}
