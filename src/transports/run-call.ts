/**
 * The steps that all transports share: id and deadline; the gate, before any of the body is read; the function of core;
 * the end of the usage record; the error for the client.
 */

import type { AdminCall, AnyCall, Call } from '../core/access/call.ts';
import type { Client, Gate } from '../core/access/gate.ts';
import { metered, meteredParts, orVoid } from '../core/billing/metered.ts';
import type { Tracer } from '../core/entities/tracer.ts';
import type { CallLimits } from '../core/limits/call-limits.ts';
import type { AdminRpc, Rpc } from '../core/rpcs.ts';
import type { Batches } from '../core/values/batches.ts';
import type { Clock } from '../core/values/clock.ts';
import { ParleyError, toParleyError } from '../core/values/errors.ts';
import { newRequestId, type RequestId } from '../core/values/ids.ts';
import { type Log, logFailure } from '../core/values/log.ts';
import { mayHaveRun, type TimedSignal, type TimeLimit } from '../core/values/signal.ts';
import { andThen, type Soon } from '../core/values/soon.ts';
import type { BufferedBody, ByteBudget } from './byte-budget.ts';
import { CallTrace } from './call-trace.ts';
import { type Headers, noHeaders, rateHeaders } from './rate-headers.ts';
import { isCompressed, type RequestHead, utf8Header } from './request-head.ts';
import type { OpenRpc } from './rpc/open-rpcs.ts';

export interface CallDeps {
  readonly gate: Gate;
  readonly clock: Clock;
  readonly log: Log;
  readonly tracer: Tracer | undefined;
  /** The bytes of request bodies that may be in memory. */
  readonly bytes: ByteBudget;
  readonly timeLimit: TimeLimit;
  /** The same for a session, which ends by itself before. */
  readonly sessionTimeLimit: TimeLimit;
}

interface Runs<Request, C extends AnyCall, Answer> {
  run(request: Request, call: C): Answer;
}

/** The progress of a call. It decides who ends the record. */
type State =
  | { readonly kind: 'arrived' }
  | { readonly kind: 'keyless'; readonly end: () => void }
  | { readonly kind: 'admin' }
  /** The gate has opened the call, and nothing has begun to read it: `close` ends its record. */
  | { readonly kind: 'opened'; readonly call: Call }
  /** The code that reads or runs the call ends its record. */
  | { readonly kind: 'running'; readonly call: Call }
  /** Closed before anything began to read it: nothing may begin any more. */
  | { readonly kind: 'unread' };

/** One request, from its headers to the end of its record. */
export class ServedCall {
  readonly id: RequestId;
  /** Aborts when the client leaves or the time is up. Its reason is a ParleyError. */
  readonly signal: TimedSignal;
  /** Set by the gate, even if it refuses the request. */
  limits: CallLimits | undefined;
  readonly #head: RequestHead;
  readonly #deps: CallDeps;
  /** The bytes of the body that may be in memory. The call releases them when it closes. */
  readonly body: BufferedBody;
  #state: State = { kind: 'arrived' };
  #trace: CallTrace | undefined;
  #error: ParleyError | undefined;
  #isClosed = false;

  /** @param kind of its RPC; undefined for a path that is none */
  constructor(head: RequestHead, deps: CallDeps, kind?: (Rpc | OpenRpc)['kind']) {
    this.id = newRequestId(deps.clock.now());
    this.#head = head;
    this.#deps = deps;
    this.signal = (kind === 'session' ? deps.sessionTimeLimit : deps.timeLimit).begin();
    this.body = deps.bytes.bodyOf(head.client.address, this.signal);
  }

  /** Whether the connection or stream is gone. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Headers that tell whether the answer repeats that of an earlier request with the same Idempotency-Key, and which model answers in
   * place of the one that was asked for. Known once the answer begins.
   */
  get answerHeaders(): Headers {
    if (this.#state.kind !== 'running') return noHeaders;
    const { isReplay, metering } = this.#state.call;
    if (!isReplay && metering.answering === undefined) return noHeaders;
    const model = metering.answering?.toWellFormed().replace(/[^\x21-\x7e]/gu, encodeURIComponent);
    return { ...(isReplay && { 'idempotent-replayed': 'true' }), ...(model && { 'x-parley-model': model }) };
  }

  get rateHeaders(): Headers {
    return this.limits === undefined ? noHeaders : rateHeaders(this.limits.rates);
  }

  /**
   * Asks the gate, with the headers alone. Call once, before the body is read.
   * @param name the operation's name in traces. Default: that of the RPC
   * @throws the gate's errors; `request_cancelled` if the client has left in the meantime
   */
  open(rpc: Rpc | OpenRpc, name?: string): Soon<void> {
    const { header } = this.#head;
    const isOpen = rpc.kind === 'unary' && rpc.runKeyless && header('authorization') === undefined;
    if (rpc.kind === 'open' || isOpen) return this.openKeyless();
    const { tracer } = this.#deps;
    if (tracer === undefined) return this.#askGate(rpc);
    const { parent, name: method } = rpc.method;
    const parents = { traceparent: header('traceparent'), tracestate: header('tracestate') };
    this.#trace = new CallTrace(tracer.span(name ?? `${parent.typeName}/${method}`, parents));
    return this.#trace.run(async () => this.#askGate(rpc));
  }

  #askGate(rpc: Rpc): Soon<void> {
    if (rpc.kind === 'admin')
      return this.gate.openAdmin(this.arrival, rpc.scope).then(() => this.#enter({ kind: 'admin' }));
    const { gate } = this.#deps;
    const { kind, operation } = rpc;
    const labels = {
      endUser: utf8Header(this.#head, 'x-parley-end-user'),
      tags: utf8Header(this.#head, 'x-parley-tags'),
    };
    const idempotencyKey = this.#head.header('idempotency-key');
    const arrival = { ...this.arrival, operation, signal: this.signal, idempotencyKey, labels };
    const opening = kind === 'session' ? gate.openSession(arrival) : gate.open(arrival);
    return andThen(opening, (call) => {
      this.signal.owner = call.caller.account.id;
      this.signal.attempts = call.metering.attempts;
      this.#enter({ kind: 'opened', call });
    });
  }

  #enter(state: State): void {
    this.#state = state;
    if (!this.#isClosed) return;
    this.#recordUnread();
    throw new ParleyError('request_cancelled');
  }

  get isKeyless(): boolean {
    return this.#state.kind === 'keyless';
  }

  /** Opens a call that needs no key. @throws `rate_limit_exceeded` if too many run on the connection */
  openKeyless(): void {
    if (!this.#isClosed) this.#state = { kind: 'keyless', end: beginKeylessCall(this.#head.client) };
  }

  /** For paths that are not RPCs. */
  get gate(): Gate {
    return this.#deps.gate;
  }

  /** Records a request for a path or method that is not served, and throws the error for it. */
  async refuseUnserved(error: ParleyError): Promise<never> {
    try {
      await this.#deps.gate.recordUnserved(this.arrival, error);
    } catch (reason) {
      this.#deps.log.error({ requestId: this.id, err: reason }, 'a request could not be recorded');
    }
    throw error;
  }

  /** The request as the gate sees it. */
  get arrival() {
    const { wire, client, header } = this.#head;
    return { id: this.id, wire, client, authorization: header('authorization'), answer: this };
  }

  /** Whether the body, or messages in it, may be compressed. */
  get isCompressed(): boolean {
    return isCompressed(this.#head);
  }

  /** Reads the request. An error voids the record, which keeps the facts noted on the call until then. */
  read<T>(read: (call: Call) => Promise<T>): Promise<T> {
    const call = this.#begin();
    return this.#traced(() => orVoid(call, read));
  }

  /** Notes the size of a message that was read. A chat's bounds its prompt; that of a compressed one was unknown before. */
  noteMessageBytes(bytes: number): void {
    const call = this.#begin();
    if (call.operation === 'chat') call.requestBytes = bytes;
    if (this.isCompressed) this.body.keep(bytes);
  }

  /** Runs an RPC with one answer. When it resolves, the record is settled and durable. */
  answer<Request, Answer>(rpc: Runs<Request, Call, Promise<Answer>>, request: Request): Promise<Answer> {
    const call = this.#begin();
    return this.#traced(() => metered(call, () => rpc.run(request, call)));
  }

  /** Runs an RPC with a stream of parts. The record is settled before the stream ends. */
  stream<Request, Part>(
    rpc: Runs<Request, Call, Batches<Part>> & { isOutput(part: Part): boolean },
    request: Request,
  ): AsyncGenerator<readonly Part[], void, void> {
    const isOutput = (parts: readonly Part[]) => parts.some((part) => rpc.isOutput(part));
    const call = this.#begin();
    this.signal.askFirst = (reason) => call.cutShort?.(reason);
    const batches = meteredParts(call, rpc.run(request, call), isOutput);
    return this.#trace ? this.#trace.stream(batches) : batches;
  }

  administer<Request, Answer>(
    rpc: Runs<Request, AdminCall, Promise<Answer>> & Pick<AdminRpc, 'scope'>,
    request: Request,
  ): Promise<Answer> {
    if (this.#state.kind !== 'admin') throw notOpened();
    // The body may have arrived long after the gate's decision.
    return this.#traced(async () =>
      rpc.run(request, { ...(await this.gate.openAdmin(this.arrival, rpc.scope)), signal: this.signal }),
    );
  }

  /** The error for the client. An error that the operator must look into is logged, once for each request. */
  errorOf(thrown: unknown): ParleyError {
    const error = toParleyError(this.signal.aborted ? this.signal.reason : thrown);
    if ('call' in this.#state) {
      const { attempts } = this.#state.call.metering;
      // The time limit ends an engine that works.
      error.hasRun ||= attempts.some(
        (made) => mayHaveRun(made) || (this.signal.aborted && !made.error?.hasNotRun),
      );
    }
    if (this.#error === undefined) logFailure(this.#deps.log, this.#loggedRequest(), error);
    this.#error = error;
    return error;
  }

  #loggedRequest() {
    if (!('call' in this.#state)) return { requestId: this.id };
    const { caller, metering } = this.#state.call;
    const { model } = metering;
    return {
      requestId: this.id,
      account: caller.account.id,
      model,
      engine: metering.attempts.at(-1)?.engine,
    };
  }

  /** Aborts the call because the client has left or its own deadline has passed. */
  cancel(): void {
    // Each stream of gRPC ends with this, and an error takes its stack.
    if (!this.signal.hasEnded) this.signal.abort(new ParleyError('request_cancelled'));
  }

  /** Marks the answer as complete. From then on nothing aborts the call. */
  finish(): void {
    this.signal.end();
  }

  /**
   * Ends the call with its connection or stream. Records a request that the gate opened but that nothing has begun to
   * read.
   * @param hasLeft whether the client left before the whole answer was written
   */
  close(hasLeft: boolean): void {
    if (hasLeft) this.cancel();
    this.signal.end();
    this.#isClosed = true;
    this.body.close();
    if (this.#state.kind === 'keyless') this.#state.end();
    this.#recordUnread();
    this.#trace?.close(this.#error);
  }

  #recordUnread(): void {
    if (this.#state.kind !== 'opened') return;
    const { metering } = this.#state.call;
    this.#state = { kind: 'unread' };
    const error = this.#error ?? this.signal.reason ?? new ParleyError('invalid_request_error');
    void this.#traced(() => metering.void(error));
  }

  #begin(): Call {
    if (this.#state.kind === 'unread') throw new ParleyError('request_cancelled');
    if (!('call' in this.#state)) throw notOpened();
    const { call } = this.#state;
    this.#state = { kind: 'running', call };
    return call;
  }

  #traced<T>(work: () => Promise<T>): Promise<T> {
    return this.#trace ? this.#trace.run(work) : work();
  }
}

function notOpened(): Error {
  return new Error('the gate was not asked about this request');
}

/**
 * Concurrent calls of health and reflection, and requests for files of the reference, on a connection. Clients need a
 * few.
 */
const keylessCallsMax = 24;
const retryAfterSeconds = 1;

const running = new WeakMap<Client, number>();

/**
 * Counts a call that needs no key. The clients of a trusted proxy are not counted together.
 * @returns a function that ends the call
 * @throws `rate_limit_exceeded` if too many run on the connection
 */
function beginKeylessCall(client: Client): () => void {
  const calls = running.get(client) ?? 0;
  if (calls >= keylessCallsMax) {
    throw new ParleyError('rate_limit_exceeded', {
      message: `More than ${keylessCallsMax} calls without a key run on this connection. Wait until one ends.`,
      retryAfterSeconds,
    });
  }
  running.set(client, calls + 1);
  return () => running.set(client, (running.get(client) ?? 1) - 1);
}
