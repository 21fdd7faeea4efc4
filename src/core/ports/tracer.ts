import type { RecordEnd, RecordStart } from './store.ts';

/** The headers of W3C Trace Context, by their names in lower case. */
export type TraceHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Follows requests from server to server. */
export interface Tracer {
  /** Runs the work of a request as a span, which goes on with the trace that its headers tell of. */
  run<T>(name: string, headers: TraceHeaders, work: () => Promise<T>): Promise<T>;
  /** Notes on the span of the running request what became of it. */
  note(start: RecordStart, end: RecordEnd): void;
  /** The headers that carry the trace of the running request on to another server. */
  outgoing(): Record<string, string>;
  /** Sends what is still to be sent. */
  close(): Promise<void>;
}

export const noTracer: Tracer = {
  run: (_name, _headers, work) => work(),
  note: () => undefined,
  outgoing: () => ({}),
  close: async () => undefined,
};
