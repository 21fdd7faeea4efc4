import type { RecordEnd, RecordStart } from './usage.ts';

/** Headers of a request, by lower-case name. */
export type TraceHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The part of a trace that belongs to one request. */
export interface TraceSpan {
  /** Runs work within the span, so that nested calls belong to the trace. */
  run<T>(work: () => T): T;
  /** Ends the span. An error of this server marks it as failed. Call once. */
  end(error?: unknown): void;
}

/** Traces requests across servers. */
export interface Tracer {
  /** Starts the span of a request within the trace that its headers name (W3C Trace Context). */
  span(name: string, headers: TraceHeaders): TraceSpan;
  /** Adds the outcome of the request to the running span. */
  note(start: RecordStart, end: RecordEnd): void;
  /** The headers that continue the running trace on another server. */
  outgoing(): Record<string, string>;
  /** Sends the remaining spans. */
  close(): Promise<void>;
}
