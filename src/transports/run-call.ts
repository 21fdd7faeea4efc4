/**
 * The steps of every transport for a request: id and deadline; the gate, asked before a byte of the body is read; the
 * function of core; the end of the usage record; the error for the client.
 */

import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import type { AdminCall, Call } from '../core/access/call.ts';
import type { Gate } from '../core/access/gate.ts';
import { metered, meteredParts, orVoid } from '../core/billing/metered.ts';
import type { KeyHolder } from '../core/entities/key.ts';
import type { Tracer, TraceSpan } from '../core/entities/tracer.ts';
import type { CallLimits } from '../core/limits/call-limits.ts';
import type { AdminRpc, ClientStreamRpc, Rpc, ServerStreamRpc, UnaryRpc } from '../core/rpcs.ts';
import type { Clock } from '../core/values/clock.ts';
import { Deadline } from '../core/values/deadline.ts';
import { ParleyError, toParleyError } from '../core/values/errors.ts';
import { logFailure } from '../core/values/failure-log.ts';
import { newRequestId, type RequestId } from '../core/values/ids.ts';
import type { Log } from '../core/values/log.ts';
import type { Signal, TimeLimit } from '../core/values/signal.ts';
import type { BufferedBody, ByteBudget } from './byte-budget.ts';
import { beginKeylessCall } from './keyless-calls.ts';
import { type Headers, noHeaders, rateHeaders } from './rate-headers.ts';
import { isCompressed, type RequestHead } from './request-head.ts';

export interface CallDeps {
  readonly gate: Gate;
  readonly clock: Clock;
  readonly log: Log;
  readonly tracer: Tracer;
  /** The bytes of request bodies that may be in memory. */
  readonly bytes: ByteBudget;
  /** The time a whole request may take. */
  readonly timeLimit: TimeLimit;
}

/** One request, from its headers to the end of its record. */
export class ServedCall {
  readonly id: RequestId;
  /** Set by the gate, even if it refuses the request. */
  limits: CallLimits | undefined;
  readonly #head: RequestHead;
  readonly #deps: CallDeps;
  readonly #deadline: Deadline;
  #body: BufferedBody | undefined;
  #endKeyless: (() => void) | undefined;
  #span: TraceSpan | undefined;
  #call: Call | undefined;
  #adminCall: AdminCall | undefined;
  #error: ParleyError | undefined;
  /** Whether reading the body or running the function has begun. From then on `#run` or `stream` ends the record. */
  #hasBegun = false;
  #isClosed = false;
  #running = 0;

  constructor(head: RequestHead, deps: CallDeps) {
    this.id = newRequestId(deps.clock.now());
    this.#head = head;
    this.#deps = deps;
    this.#deadline = new Deadline(deps.timeLimit);
  }

  /** Aborts when the client leaves or the deadline passes. Its reason is a ParleyError. */
  get signal(): Signal {
    return this.#deadline.signal;
  }

  /** Whether the connection or stream is gone. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether the answer repeats that of an earlier request with the same Idempotency-Key. Known once the answer begins. */
  get isReplay(): boolean {
    return this.#call?.isReplay ?? false;
  }

  /** Headers of the answer with the remaining limits of the minute. */
  get rateHeaders(): Headers {
    return this.limits === undefined ? noHeaders : rateHeaders(this.limits.rates);
  }

  /**
   * Asks the gate, with the headers alone. Call once, before the body is read.
   * @param name the operation's name in traces
   * @throws the gate's errors; `request_cancelled` if the client has left in the meantime
   */
  async open(rpc: Rpc, name = `${rpc.method.parent.typeName}/${rpc.method.name}`): Promise<void> {
    const { header } = this.#head;
    const { gate, tracer } = this.#deps;
    this.#span = tracer.span(name, { traceparent: header('traceparent'), tracestate: header('tracestate') });
    await this.#within(async () => {
      if (rpc.kind === 'admin') {
        this.#adminCall = await gate.openAdmin(this.#arrival);
        return;
      }
      const facts = { operation: rpc.operation, signal: this.signal };
      this.#call = await gate.open({ ...this.#arrival, ...facts, idempotencyKey: header('idempotency-key') });
      this.#deadline.ownedBy(this.#call.caller.account.id);
    });
    if (!this.#isClosed) return;
    this.#recordUnread();
    throw new ParleyError('request_cancelled');
  }

  /** Opens a call that needs no key. @throws `rate_limit_exceeded` if too many run on the connection */
  openKeyless(): void {
    if (!this.#isClosed) this.#endKeyless = beginKeylessCall(this.#head.client);
  }

  /** Asks the gate for a path that is not an RPC. @throws the errors of `Gate.openAdmin` */
  openAdmin(): Promise<AdminCall> {
    return this.#deps.gate.openAdmin(this.#arrival);
  }

  /** Asks the gate who signs in to the console. @throws the errors of `Gate.identify` */
  identify(): Promise<KeyHolder> {
    return this.#deps.gate.identify(this.#arrival);
  }

  /** Records a request for a path or method that is not served. Does not throw: the answer is `error` in any case. */
  async recordUnserved(error: ParleyError): Promise<void> {
    try {
      await this.#deps.gate.recordUnserved(this.#arrival, error);
    } catch (reason) {
      this.#deps.log.error({ requestId: this.id, err: reason }, 'a request could not be recorded');
    }
  }

  get #arrival() {
    const { wire, client, header } = this.#head;
    return { id: this.id, wire, client, authorization: header('authorization'), answer: this };
  }

  /** Whether the body, or messages in it, may be compressed. */
  get isCompressed(): boolean {
    return isCompressed(this.#head);
  }

  /**
   * Resolves when this many bytes of the body, counted from its beginning, may be in memory. They are released when the
   * call closes.
   * @throws `overloaded` if other requests use the memory for too long
   */
  async admitBytes(bytes: number): Promise<void> {
    this.#body ??= this.#deps.bytes.bodyOf(this.#head.client.address);
    await this.#body.admit(bytes, this.signal);
    if (!this.#isClosed) return;
    this.#body.keep(0);
    throw new ParleyError('request_cancelled');
  }

  /** Releases all but this many bytes, once the size of the request is known. */
  keepBytes(bytes: number): void {
    this.#body?.keep(bytes);
  }

  /** Reads the request. An error voids the record, which keeps the facts noted on the call until then. */
  read<T>(read: (call: Call) => Promise<T>): Promise<T> {
    return this.#run((call) => orVoid(call, () => read(call)));
  }

  /** Notes the size of a request's message, which bounds the tokens of a prompt. */
  noteRequestBytes(bytes: number): void {
    if (this.#call) this.#call.requestBytes = bytes;
  }

  /** Runs an RPC with one answer. When it resolves, the record is settled and durable. */
  answer<I extends DescMessage, O extends DescMessage, Answer>(
    rpc: UnaryRpc<I, O, Answer>,
    request: MessageShape<I>,
  ): Promise<Answer> {
    return this.#run((call) => metered(call, () => rpc.run(request, call)));
  }

  /** Runs an RPC with a stream of requests. When it resolves, the record is settled and durable. */
  upload<I extends DescMessage, O extends DescMessage>(
    rpc: ClientStreamRpc<I, O>,
    requests: AsyncIterable<MessageShape<I>>,
  ): Promise<MessageShape<O>> {
    return this.#run((call) => metered(call, () => rpc.run(requests, call)));
  }

  /** Runs an RPC with a stream of parts. The record is settled before the stream ends. */
  stream<I extends DescMessage, O extends DescMessage, Part>(
    rpc: ServerStreamRpc<I, O, Part>,
    request: MessageShape<I>,
  ): AsyncGenerator<readonly Part[], void, void> {
    const isOutput = (parts: readonly Part[]) => parts.some((part) => rpc.isOutput(part));
    const call = this.#begin();
    const batches = this.#within(() => meteredParts(call, rpc.run(request, call), isOutput));
    return this.#span ? this.#traced(this.#span, batches) : batches;
  }

  /** Runs an admin RPC. */
  administer<I extends DescMessage, O extends DescMessage>(
    rpc: AdminRpc<I, O>,
    request: MessageShape<I>,
  ): Promise<MessageShape<O>> {
    if (this.#adminCall === undefined) throw notOpened();
    // The body may have arrived long after the gate was asked.
    return this.#within(async () => rpc.run(request, await this.#deps.gate.openAdmin(this.#arrival)));
  }

  /** The error for the client. An error that the operator must look into is logged, once for each request. */
  errorOf(thrown: unknown): ParleyError {
    const error = toParleyError(this.signal.aborted ? this.signal.reason : thrown);
    if (this.#error === undefined) logFailure(this.#deps.log, this.id, error);
    this.#error = error;
    return error;
  }

  /** Aborts the call because the client has left or its own deadline has passed. */
  cancel(): void {
    this.#deadline.cancel();
  }

  /** Marks the answer as complete. From then on nothing aborts the call. */
  finish(): void {
    this.#deadline.stop();
  }

  /**
   * Ends the call with its connection or stream. Records a request that the gate opened but that nothing has begun to
   * read.
   * @param hasLeft whether the client left before the whole answer was written
   */
  close(hasLeft: boolean): void {
    if (hasLeft) this.#deadline.cancel();
    this.#deadline.stop();
    this.#isClosed = true;
    this.#body?.keep(0);
    this.#endKeyless?.();
    this.#recordUnread();
    this.#endSpan();
  }

  #recordUnread(): void {
    if (this.#call === undefined || this.#hasBegun) return;
    const error = this.#error ?? this.signal.reason ?? new ParleyError('invalid_request_error');
    void this.#run(({ metering }) => metering.void(error));
  }

  #run<T>(run: (call: Call) => Promise<T>): Promise<T> {
    const call = this.#begin();
    const span = this.#span;
    return span === undefined ? run(call) : span.run(() => run(call)).finally(() => this.#end());
  }

  /** Requests each part within the span, since the consumer runs outside of it. */
  async *#traced<T>(span: TraceSpan, parts: AsyncGenerator<T, void, void>): AsyncGenerator<T, void, void> {
    let isOver = false;
    try {
      for (;;) {
        const { done, value } = await span.run(() => parts.next());
        isOver = done === true;
        if (done) return;
        yield value;
      }
    } catch (error) {
      isOver = true;
      throw error;
    } finally {
      // If the consumer returns early, the source must end as well.
      if (!isOver) await span.run(() => parts.return());
      this.#end();
    }
  }

  #begin(): Call {
    if (this.#call === undefined) throw notOpened();
    this.#hasBegun = true;
    this.#running++;
    return this.#call;
  }

  #end(): void {
    this.#running--;
    this.#endSpan();
  }

  /** Ends the span once the connection is closed and the record has ended, in either order. */
  #endSpan(): void {
    if (!this.#isClosed || this.#running > 0) return;
    this.#span?.end(this.#error);
    this.#span = undefined;
  }

  #within<T>(work: () => T): T {
    return this.#span ? this.#span.run(work) : work();
  }
}

function notOpened(): Error {
  return new Error('the gate was not asked about this request');
}
