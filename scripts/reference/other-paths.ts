/** Paths that are not RPCs: for monitoring, at the root of the port, and the document itself. */
import type { JsonObject } from '@bufbuild/protobuf';
import { errorResponses, headerRef } from './errors.ts';
import { titleOfOperation } from './titles.ts';

const atRoot: JsonObject = { servers: [{ url: '/', description: 'The root of the port.' }] };
const engines: JsonObject = {
  type: 'object',
  description: 'The number of engines that are reachable, and of those that are not.',
  required: ['up', 'down'],
  properties: { up: { type: 'integer' }, down: { type: 'integer' } },
};

function answer(
  description: string,
  required: readonly string[],
  properties: JsonObject,
  example: JsonObject,
) {
  const schema: JsonObject = { type: 'object', required: [...required], properties };
  return {
    description,
    headers: { 'x-request-id': headerRef('x-request-id') },
    content: { 'application/json': { schema, example } },
  };
}

export const otherTags: JsonObject[] = [
  { name: 'Monitoring', description: 'For load balancers, Prometheus and tools.' },
];

export const otherPaths: JsonObject = {
  '/openapi.json': {
    get: {
      operationId: 'getOpenApi',
      'x-title': titleOfOperation('getOpenApi'),
      tags: ['Monitoring'],
      summary: 'Returns this document',
      security: [],
      responses: {
        '200': answer(
          'An OpenAPI 3.1 document.',
          ['openapi'],
          { openapi: { type: 'string' } },
          { openapi: '3.1.1' },
        ),
      },
    },
  },
  '/healthz': {
    ...atRoot,
    get: {
      operationId: 'getHealth',
      'x-title': titleOfOperation('getHealth'),
      tags: ['Monitoring'],
      summary: 'Reports that the process is alive',
      security: [],
      responses: { '200': answer('It is.', ['status'], { status: { const: 'ok' } }, { status: 'ok' }) },
    },
  },
  '/readyz': {
    ...atRoot,
    get: {
      operationId: 'getReadiness',
      'x-title': titleOfOperation('getReadiness'),
      tags: ['Monitoring'],
      summary: 'Reports whether to send requests',
      security: [],
      responses: {
        '200': answer(
          'Send them.',
          ['status', 'engines'],
          { status: { const: 'ready' }, engines },
          { status: 'ready', engines: { up: 1, down: 0 } },
        ),
        '503': answer(
          'Send requests to another server.',
          ['status', 'reason', 'engines'],
          { status: { const: 'not_ready' }, reason: { type: 'string' }, engines },
          { status: 'not_ready', reason: 'stopping', engines: { up: 1, down: 0 } },
        ),
      },
    },
  },
  '/metrics': {
    ...atRoot,
    get: {
      operationId: 'getMetrics',
      'x-title': titleOfOperation('getMetrics'),
      tags: ['Monitoring'],
      summary: 'Returns metrics for Prometheus',
      description: 'The setting `metrics.access` decides who may read them.',
      security: [{ adminKey: [] }],
      responses: {
        '200': {
          description: 'The metrics.',
          headers: { 'x-request-id': headerRef('x-request-id') },
          content: { 'text/plain': { schema: { type: 'string' } } },
        },
        ...metricsErrors(),
      },
    },
  },
};

function metricsErrors(): JsonObject {
  const facts = { hasBody: false, hasParameters: false, namesObject: false, hasIdempotencyKey: false };
  return errorResponses({ operation: 'admin', comments: '', ...facts });
}
