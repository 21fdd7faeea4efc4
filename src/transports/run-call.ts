/** What every RPC protocol does around a function of core: the gate before, the end of the record behind. */
import type { Message } from '@bufbuild/protobuf';
import type { Credentials, Gate } from '../core/access/gate.ts';
import { type Batches, singly } from '../core/batches.ts';
import type { Call } from '../core/call.ts';
import { type ParleyError, toParleyError } from '../core/errors.ts';
import { newRequestId, type RequestId } from '../core/ids.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { Log } from '../core/ports/log.ts';
import type { TraceHeaders, Tracer } from '../core/ports/tracer.ts';
import type { Rpc } from '../core/rpcs.ts';
import { first, type OpenRpc, single } from './rpc/open-rpcs.ts';
import { sizeOfRequest } from './rpc/request-size.ts';

export interface RpcDeps {
  readonly gate: Gate;
  readonly clock: Clock;
  readonly log: Log;
  readonly tracer: Tracer;
  readonly requestMsMax: number;
}

/** A call as it comes in over gRPC, Connect or gRPC-Web. */
export interface IncomingCall extends Credentials {
  readonly id: RequestId;
  readonly idempotencyKey: string | undefined;
  /** Its headers, as far as they tell of a trace. */
  readonly traceHeaders: TraceHeaders;
  /** Aborts when the client has left, its deadline has passed or the request's time is up; its reason is a ParleyError. */
  readonly signal: AbortSignal;
  /** Set before the first part of the answer: whether it is that of an earlier request under the same key. */
  isReplay: boolean;
}

export type AnyRpc = Rpc | OpenRpc;
type Of<Kind extends Rpc['kind']> = Extract<Rpc, { readonly kind: Kind }>;

export function nextRequestId({ clock }: RpcDeps): RequestId {
  return newRequestId(clock.now());
}

/** Serves an RPC of one request and one response. */
export function serveUnary(
  rpc: AnyRpc,
  request: Message,
  incoming: IncomingCall,
  deps: RpcDeps,
): Promise<Message> {
  switch (rpc.kind) {
    case 'unary':
      return traced(rpc, incoming, deps).run(() =>
        withCall(rpc, incoming, deps, (call) => {
          call.requestBytes = sizeOf(rpc, request);
          return rpc.run(request, call);
        }),
      );
    case 'admin':
      return deps.gate.openAdmin(incoming).then((call) => rpc.run(request, call));
    case 'open':
      return first(rpc.run(single(request), incoming.signal));
    default:
      throw misplaced(rpc);
  }
}

/** Serves an RPC of one request and a stream of responses. */
export function serveServerStream(
  rpc: AnyRpc,
  request: Message,
  incoming: IncomingCall,
  deps: RpcDeps,
): Batches<Message> {
  if (rpc.kind === 'open') return singly(rpc.run(single(request), incoming.signal));
  if (rpc.kind === 'server-stream') {
    return traced(rpc, incoming, deps).parts(() => streamWithCall(rpc, request, incoming, deps));
  }
  throw misplaced(rpc);
}

/** Serves an RPC of a stream of requests and one response. */
export function serveClientStream(
  rpc: AnyRpc,
  requests: AsyncIterable<Message>,
  incoming: IncomingCall,
  deps: RpcDeps,
): Promise<Message> {
  if (rpc.kind === 'client-stream') {
    return traced(rpc, incoming, deps).run(() =>
      withCall(rpc, incoming, deps, (call) => rpc.run(requests, call)),
    );
  }
  throw misplaced(rpc);
}

/** Serves an RPC of streams both ways. */
export function serveBidi(
  rpc: AnyRpc,
  requests: AsyncIterable<Message>,
  { signal }: IncomingCall,
): Batches<Message> {
  if (rpc.kind === 'open') return singly(rpc.run(requests, signal));
  throw misplaced(rpc);
}

async function* streamWithCall(
  rpc: Of<'server-stream'>,
  request: Message,
  incoming: IncomingCall,
  deps: RpcDeps,
): AsyncGenerator<readonly Message[]> {
  const call = await openCall(rpc, incoming, deps);
  call.requestBytes = sizeOf(rpc, request);
  try {
    for await (const part of rpc.run(request, call)) {
      incoming.isReplay = call.isReplay;
      yield rpc.messagesOf(part);
    }
  } catch (error) {
    throw await ended(call, error);
  }
}

async function withCall(
  rpc: Of<'unary' | 'client-stream'>,
  incoming: IncomingCall,
  deps: RpcDeps,
  run: (call: Call) => Promise<Message>,
): Promise<Message> {
  const call = await openCall(rpc, incoming, deps);
  try {
    const response = await run(call);
    incoming.isReplay = call.isReplay;
    return response;
  } catch (error) {
    throw await ended(call, error);
  }
}

function traced({ method }: AnyRpc, { traceHeaders }: IncomingCall, { tracer }: RpcDeps) {
  return tracer.span(`${method.parent.typeName}/${method.name}`, traceHeaders);
}

function openCall(rpc: Exclude<Rpc, Of<'admin'>>, incoming: IncomingCall, { gate }: RpcDeps): Promise<Call> {
  return gate.open({ ...incoming, operation: rpc.operation });
}

async function ended(call: Call, thrown: unknown): Promise<ParleyError> {
  const error = toParleyError(call.signal.aborted ? call.signal.reason : thrown);
  await call.metering.void(error);
  return error;
}

/** Only chat needs it, for the bound of its prompt. */
function sizeOf(rpc: Exclude<Rpc, Of<'admin'>>, request: Message): number {
  return rpc.operation === 'chat' ? sizeOfRequest(rpc.method.input, request) : 0;
}

function misplaced({ method }: AnyRpc): Error {
  return new Error(`${method} does not have the shape that it is served in`);
}
