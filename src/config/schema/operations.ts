/** Settings for those who watch over a server. */
import { z } from 'zod';
import { group, oneOf, text, wholeNumber } from './setting.ts';

export const metrics = group({
  access: oneOf(['off', 'key', 'open'])
    .default('key')
    .describe(
      'Who may read GET /metrics, for Prometheus: nobody, who sends an admin key, or everybody who reaches the port.',
    ),
})
  .prefault({})
  .describe('Metrics, on the port for administration where there is one.');

const ratioAllowed = 'a number from 0 to 1';

export const tracing = group({
  endpoint: text(/^https?:\/\/[^\s?#]+$/, 'a URL such as http://127.0.0.1:4318/v1/traces')
    .optional()
    .describe(
      'Where traces are sent, by OTLP over HTTP: http://127.0.0.1:4318/v1/traces. Default: nowhere, and none are made.',
    ),
  sampleRatio: z
    .number({ error: ratioAllowed })
    .min(0, { error: ratioAllowed })
    .max(1, { error: ratioAllowed })
    .default(1)
    .describe(
      'Of the traces that begin here, the part that is kept: 0 to 1. A client decides for those that it begins.',
    ),
})
  .prefault({})
  .describe('OpenTelemetry traces: a span a request, which goes on with the trace of the client.');

export const retention = group({
  usageDays: wholeNumber(1, 36_500)
    .optional()
    .describe(
      'Days that usage records are kept. Older ones are removed daily, and their totals are kept. Default: for ever.',
    ),
})
  .prefault({})
  .describe('How long records are kept.');

export const cors = group({
  origins: z
    .array(text(/^(\*|https?:\/\/[^\s/?#]+)$/, 'an origin such as https://app.example.com, or "*"'), {
      error: 'a list of origins such as https://app.example.com',
    })
    .default([])
    .describe(
      'Origins whose pages may call this server from a browser, such as https://app.example.com, or "*" for all. Default: none.',
    ),
})
  .prefault({})
  .describe('Calls from pages in browsers.');
