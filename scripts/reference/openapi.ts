/** The OpenAPI document of the REST paths. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FileRegistry, JsonObject } from '@bufbuild/protobuf';
import { basePath } from '../../src/core/values/base-path.ts';
import { bounds } from '../../src/core/values/bounds.ts';
import { root } from '../setup/run.mjs';
import { Components } from './components.ts';
import { errorExamples, errorHeaderComponents, errorSchema } from './errors.ts';
import { addMessages, type RestOperation, restOperation, tagOf } from './operations.ts';
import { otherPaths, otherTags } from './other-paths.ts';
import { restSchemas } from './rest-schemas.ts';
import { commentOf, ownServices, packageWord, restMethods } from './schemas.ts';
import { groupTitles } from './titles.ts';

export function openApiDocument(registry: FileRegistry): JsonObject {
  const services = ownServices(registry);
  const methods = restMethods(services);
  const components = new Components();
  const find = (name: string) => {
    const message = registry.getMessage(name);
    if (message === undefined) throw new Error(`there is no message ${name}`);
    return message;
  };
  for (const method of methods) addMessages(method, components, find);
  const operations = methods.map((method) => restOperation(method, components, registry));
  checkIds(operations);
  const used = new Set(methods.map(({ parent }) => parent));
  const tags = services
    .filter((service) => used.has(service))
    .map((service) => ({
      name: tagOf(service),
      'x-displayName': groupTitles[packageWord(service.typeName)] ?? tagOf(service),
      description: commentOf(service),
    }));
  return {
    openapi: '3.1.1',
    info: info(),
    servers: [{ url: basePath, description: 'This server.' }],
    tags: [...tags, ...otherTags],
    paths: { ...pathsOf(operations), ...otherPaths },
    components: {
      securitySchemes,
      parameters,
      headers: { ...headers, ...errorHeaderComponents },
      examples: errorExamples,
      schemas: { Error: errorSchema, ...restSchemas, ...components.schemas() },
    },
  };
}

function info(): JsonObject {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  return {
    title: 'Parley',
    version,
    summary: 'Speech, transcription and chat, with exact metering.',
    description: [
      'Every call needs `Authorization: Bearer <key>`. The paths are those that OpenAI SDKs call: end their base URL in `/api/v1`.',
      'A member that is `null` counts as absent. Speech, transcription and chat ignore or pass on unknown members; account and administration refuse them.',
      'Integers of 64 bits are numbers where a JSON number is exact, else strings.',
    ].join('\n\n'),
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  };
}

function pathsOf(operations: readonly RestOperation[]): JsonObject {
  const paths = Map.groupBy(operations, ({ path }) => path);
  return Object.fromEntries(
    [...paths].map(([path, those]) => [
      path,
      Object.fromEntries(those.map(({ verb, operation }) => [verb, operation])),
    ]),
  );
}

function checkIds(operations: readonly RestOperation[]): void {
  const ids = operations.map(({ operation }) => String(operation['operationId']));
  const twice = ids.filter((id, index) => ids.indexOf(id) !== index);
  if (twice.length > 0) throw new Error(`two operations have the same id: ${twice.join(', ')}`);
}

const securitySchemes: JsonObject = {
  apiKey: { type: 'http', scheme: 'bearer', description: 'A key of an account: `pk_…`.' },
  adminKey: { type: 'http', scheme: 'bearer', description: 'A key for administration: `pa_…`.' },
};

const parameters: JsonObject = {
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Prevents a second execution: requests with the same key happen once. The plain answer is kept for 24 hours and repeated. Streams ignore this header.',
    schema: { type: 'string', ...bounds.idempotencyKey },
  },
};

const headers: JsonObject = {
  'x-request-id': {
    description: "The id of the request's usage record.",
    schema: { type: 'string' },
    example: 'req_0198f2c1a5b27c3d8e4f5a6b7c8d9e11',
  },
  'idempotent-replayed': {
    description:
      '`true` if the answer repeats the answer of an earlier request with the same Idempotency-Key.',
    schema: { const: 'true' },
    example: 'true',
  },
  'x-parley-model': {
    description: 'The id of the model that answers, if it does so in place of the one that was asked for.',
    schema: { type: 'string' },
    example: 'qwen3-8b',
  },
};
