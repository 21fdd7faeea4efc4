import type { RecordEnd, RecordStart } from './usage.ts';

/** Headers of a request, by their lower-case names. */
export type TraceHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The part of a trace that one request makes up. */
export interface TraceSpan {
  /** Runs work within the span, so that what it calls belongs to the trace. */
  run<T>(work: () => T): T;
  /** Ends the span; an error of this server marks it as failed. Called once. */
  end(error?: unknown): void;
}

/** Traces requests across servers. */
export interface Tracer {
  /** Starts the span of a request within the trace that its headers name (W3C Trace Context). Undefined if nothing is traced. */
  span(name: string, headers: TraceHeaders): TraceSpan | undefined;
  /** Adds the outcome of the request to the running span. */
  note(start: RecordStart, end: RecordEnd): void;
  /** The headers that continue the running trace on another server. */
  outgoing(): Record<string, string>;
  /** Sends the spans that are left. */
  close(): Promise<void>;
}

export const noTracer: Tracer = {
  span: () => undefined,
  note: () => undefined,
  outgoing: () => ({}),
  close: async () => undefined,
};
