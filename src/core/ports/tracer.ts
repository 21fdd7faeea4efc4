import type { RecordEnd, RecordStart } from './usage.ts';

/** The headers of W3C Trace Context, by their names in lower case. */
export type TraceHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A part of the work for a request, followed from server to server. It ends with what runs in it. */
export interface TraceSpan {
  run<T>(work: () => Promise<T>): Promise<T>;
  parts<T>(source: () => AsyncIterable<T>): AsyncIterable<T>;
}

/** Follows requests from server to server. */
export interface Tracer {
  /** A span that goes on with the trace that a request's headers tell of. To be used once. */
  span(name: string, headers: TraceHeaders): TraceSpan;
  /** Notes on the span that runs what became of its request. */
  note(start: RecordStart, end: RecordEnd): void;
  /** The headers that carry the trace of the running request on to another server. */
  outgoing(): Record<string, string>;
  /** Sends what is still to be sent. */
  close(): Promise<void>;
}

const noSpan: TraceSpan = { run: (work) => work(), parts: (source) => source() };

export const noTracer: Tracer = {
  span: () => noSpan,
  note: () => undefined,
  outgoing: () => ({}),
  close: async () => undefined,
};
