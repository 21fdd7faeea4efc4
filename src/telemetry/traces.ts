import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TraceHeaders, Tracer } from '../core/entities/tracer.ts';
import type { RecordEnd, RecordStart } from '../core/entities/usage.ts';
import { toParleyError } from '../core/values/errors.ts';

interface TracesOptions {
  /** URL that receives spans by OTLP over HTTP, such as `http://127.0.0.1:4318/v1/traces`. */
  readonly endpoint: string;
  /** The share of traces to keep, from 0 to 1. For a trace that a client began, the client decides. */
  readonly sampleRatio: number;
  readonly version: string;
}

/** Sends one span per request, with facts of its usage record. Never contains keys, prompts or audio. */
export function createTraces({ endpoint, sampleRatio, version }: TracesOptions): Tracer {
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'parley', 'service.version': version }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampleRatio) }),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: endpoint }) })],
  });
  const tracer = provider.getTracer('parley', version);
  const propagator = new W3CTraceContextPropagator();
  // Not the global context of OpenTelemetry, as a process may run several servers.
  const running = new AsyncLocalStorage<Context>();
  const spanOf = (): Span | undefined => {
    const context = running.getStore();
    return context && trace.getSpan(context);
  };
  return {
    span: (name, headers) => {
      const parent = propagator.extract(ROOT_CONTEXT, pick(headers), defaultTextMapGetter);
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER }, parent);
      const context = trace.setSpan(parent, span);
      return {
        run: (work) => running.run(context, work),
        end: (error) => {
          if (error !== undefined) noteFailure(span, error);
          span.end();
        },
      };
    },
    note: (start, end) => {
      const span = spanOf();
      if (span) noteRecord(span, start, end);
    },
    outgoing: () => {
      const context = running.getStore();
      const headers: Record<string, string> = {};
      if (context) propagator.inject(context, headers, defaultTextMapSetter);
      return headers;
    },
    close: () => provider.shutdown(),
  };
}

/** Only errors of this server fail the span, not refused requests or clients that left. */
function noteFailure(span: Span, thrown: unknown): void {
  if (toParleyError(thrown).httpStatus >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
}

function pick(headers: TraceHeaders): Record<string, unknown> {
  return { traceparent: headers['traceparent'], tracestate: headers['tracestate'] };
}

function noteRecord(span: Span, start: RecordStart, end: RecordEnd): void {
  span.setAttributes({
    'parley.request_id': start.id,
    'parley.operation': start.operation,
    'parley.wire': start.wire,
    'parley.state': end.state,
    'http.response.status_code': end.httpStatus,
    // Attributes without a value are left out.
    'gen_ai.request.model': start.model,
    'error.type': end.code,
    'gen_ai.usage.input_tokens': end.tokens?.promptTokens,
    'gen_ai.usage.output_tokens': end.tokens?.completionTokens,
    'gen_ai.usage.cache_read.input_tokens': end.tokens?.cachedTokens,
    'gen_ai.usage.cache_creation.input_tokens': end.tokens?.cacheWriteTokens,
  });
  if (end.state === 'failed') span.setStatus({ code: SpanStatusCode.ERROR, message: end.code ?? '' });
}
