import type { RecordEnd, RecordStart } from './usage.ts';

/** The headers of W3C Trace Context, by their names in lower case. */
export type TraceHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The part of a trace that one request makes up. */
export interface TraceSpan {
  /** Runs work within the span, so that what it calls belongs to the trace. */
  run<T>(work: () => T): T;
  /** Ends the span; an error of this server marks it as failed. Called once. */
  end(error?: unknown): void;
}

/** Follows requests from server to server. */
export interface Tracer {
  /** Starts the span of a request, within the trace that its headers name. Undefined where nothing is traced. */
  span(name: string, headers: TraceHeaders): TraceSpan | undefined;
  /** Notes on the span that runs what became of its request. */
  note(start: RecordStart, end: RecordEnd): void;
  /** The headers that carry the trace of the running request on to another server. */
  outgoing(): Record<string, string>;
  /** Sends what is still to be sent. */
  close(): Promise<void>;
}

export const noTracer: Tracer = {
  span: () => undefined,
  note: () => undefined,
  outgoing: () => ({}),
  close: async () => undefined,
};
