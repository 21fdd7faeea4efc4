/** Typed clients of the server, generated from its schemas, with the session's cookie. */
import { Code, ConnectError, createClient, type Interceptor, type Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { AccountService } from '../../gen/parley/account/v1/account_service_pb.ts';
import { AdminService } from '../../gen/parley/admin/v1/admin_service_pb.ts';
import { CatalogService } from '../../gen/parley/catalog/v1/catalog_service_pb.ts';
import { ManagementService } from '../../gen/parley/management/v1/management_service_pb.ts';
import { connectionLost } from './connection.ts';
import { endSession } from './session.ts';

/**
 * Calls of this server.
 * @param note is told why a call fails, and returns the error to throw
 * @param key is sent instead of the session's cookie
 */
export function transportTo(note: (error: unknown) => unknown, key?: string): Transport {
  const watch: Interceptor = (next) => async (request) => {
    if (key !== undefined) request.header.set('authorization', `Bearer ${key}`);
    try {
      return await next(request);
    } catch (error) {
      throw note(error);
    }
  };
  return createConnectTransport({ baseUrl: location.origin, useBinaryFormat: true, interceptors: [watch] });
}

/** With the session's cookie. Clients that one page needs are made there, so that other pages do not load their schemas. */
export const transport = transportTo(noteFailure);

export const account = createClient(AccountService, transport);
export const admin = createClient(AdminService, transport);
export const catalog = createClient(CatalogService, transport);
export const management = createClient(ManagementService, transport);

/** Why a call failed, for people. */
export interface Failure {
  readonly kind: 'offline' | 'forbidden' | 'other';
  readonly message: string;
  /** The field of the request that the server refused, such as `limits.models`. */
  readonly param?: string;
}

/** Records a lost connection or session, wherever a call fails, also in the middle of a stream. */
export function noteFailure(error: unknown): unknown {
  noteConnection(error);
  if (isUnauthenticated(error)) endSession('Your session has ended. Sign in again.');
  if (infoOf(error)?.reason === 'account_suspended') endSession(failureOf(error).message);
  return error;
}

export function noteConnection(error: unknown): void {
  if (isOffline(error)) connectionLost();
}

export function isUnauthenticated(error: unknown): boolean {
  return error instanceof ConnectError && error.code === Code.Unauthenticated;
}

export function failureOf(error: unknown): Failure {
  if (isOffline(error)) return { kind: 'offline', message: 'The server cannot be reached.' };
  if (!(error instanceof ConnectError))
    return { kind: 'other', message: (error as Error).message ?? String(error) };
  const kind = error.code === Code.PermissionDenied ? 'forbidden' : 'other';
  const param = infoOf(error)?.metadata['param'];
  return { kind, message: error.rawMessage, ...(param !== undefined && { param }) };
}

/** The problem of a failed request with its code and id, by which its record is found. */
export function problemOf(error: unknown, id = requestIdOf(error)): string {
  const facts = [infoOf(error)?.reason, id].filter(Boolean);
  const { message } = failureOf(error);
  return facts.length === 0 ? message : `${message} (${facts.join(', ')})`;
}

function requestIdOf(error: unknown): string | undefined {
  return (error instanceof ConnectError && error.metadata.get('x-request-id')) || undefined;
}

function infoOf(error: unknown) {
  return error instanceof ConnectError ? error.findDetails(ErrorInfoSchema)[0] : undefined;
}

export function isAborted(error: unknown): boolean {
  const isConnect = error instanceof ConnectError && error.code === Code.Canceled;
  return isConnect || (error instanceof DOMException && error.name === 'AbortError');
}

/** `fetch` throws a TypeError if no answer comes. */
function isOffline(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof ConnectError && error.cause instanceof TypeError);
}
