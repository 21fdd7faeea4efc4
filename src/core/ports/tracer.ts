import type { RecordEnd, RecordStart } from './usage.ts';

/** Headers of a request, by their lower-case names. */
export type TraceHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The part of a trace for one request. It ends with the work that runs in it. */
export interface TraceSpan {
  run<T>(work: () => Promise<T>): Promise<T>;
  parts<T>(source: () => AsyncIterable<T>): AsyncIterable<T>;
}

/** Traces requests across servers. */
export interface Tracer {
  /** A span that continues the trace in the headers of a request (W3C Trace Context). For one use. */
  span(name: string, headers: TraceHeaders): TraceSpan;
  /** Adds the outcome of the request to the running span. */
  note(start: RecordStart, end: RecordEnd): void;
  /** The headers that continue the running trace on another server. */
  outgoing(): Record<string, string>;
  /** Sends the spans that are left. */
  close(): Promise<void>;
}

const noSpan: TraceSpan = { run: (work) => work(), parts: (source) => source() };

export const noTracer: Tracer = {
  span: () => noSpan,
  note: () => undefined,
  outgoing: () => ({}),
  close: async () => undefined,
};
