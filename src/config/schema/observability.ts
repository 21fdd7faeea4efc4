import * as z from 'zod';
import { group, oneOf, text } from './setting-types.ts';

export const metrics = group({
  access: oneOf(['off', 'key', 'open'])
    .default('key')
    .describe('Who may read the metrics: nobody (off), holders of an admin key (key), or everybody (open).'),
})
  .prefault({})
  .describe('Metrics for Prometheus at GET /metrics, on the port for administration if there is one.');

const ratioAllowed = 'a number from 0 to 1';

export const tracing = group({
  endpoint: text(/^https?:\/\/[^\s?#]+$/, 'a URL such as http://127.0.0.1:4318/v1/traces')
    .optional()
    .describe(
      'Where to send traces by OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces. Default: no traces.',
    ),
  sampleRatio: z
    .number({ error: ratioAllowed })
    .min(0, { error: ratioAllowed })
    .max(1, { error: ratioAllowed })
    .default(1)
    .describe(
      'The share of traces to keep, from 0 to 1. For a trace that a client began, the client decides.',
    ),
})
  .prefault({})
  .describe(
    'OpenTelemetry traces: one span a request. It continues the trace of the client and is sent to upstreams.',
  );

export const log = group({
  level: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('The lowest level to log: trace, debug, info, warn, error or fatal. `silent` logs nothing.'),
})
  .prefault({})
  .describe('The log: JSON lines on standard error.');
