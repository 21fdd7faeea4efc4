/** The OpenAPI document and the description of the RPCs: made from the schemas, valid, and compatible with the last release. */
import { readFileSync } from 'node:fs';
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { breakingDifferences } from '../../scripts/reference/breaking.ts';
import { fieldKeywords } from '../../scripts/reference/field-keywords.ts';
import { openApiDocument } from '../../scripts/reference/openapi.ts';
import { nullable, promised } from '../../scripts/reference/rest-forms.ts';
import { rpcDocument } from '../../scripts/reference/rpcs.ts';
import { ownServices, readSchemas } from '../../scripts/reference/schemas.ts';
import { isObject } from '../../src/core/values/json.ts';
import { ApiDocument, readDocument } from '../support/api-document.ts';

const document = readDocument();
const api = new ApiDocument(document);

describe('reference/', () => {
  it('is what `npm run generate` writes', () => {
    const schemas = readSchemas();
    expect(document, 'run `npm run generate` and commit reference/').toEqual(openApiDocument(schemas));
    const rpcs: unknown = JSON.parse(readFileSync('reference/rpcs.json', 'utf8'));
    expect(rpcs, 'run `npm run generate` and commit reference/').toEqual(rpcDocument(schemas));
  });

  it('is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
    expect(document['openapi']).toMatch(/^3\.1\./);
  });

  it('has examples that fit their schemas', () => {
    const found: string[] = [];
    const count = eachExample(document, '#', (pointer, example) => {
      found.push(...api.mismatches(pointer, example).map((fault) => `${pointer}: ${fault}`));
    });
    expect(found).toEqual([]);
    expect(count).toBeGreaterThan(40);
  });

  it('has an example of every body and every JSON answer', () => {
    const bare = api.operations.flatMap(({ id, json }) => {
      const contents = JSON.stringify([json['requestBody'] ?? {}, json['responses'] ?? {}]);
      const parts: JsonValue = JSON.parse(contents);
      return contentsWithoutExample(parts).map((type) => `${id} ${type}`);
    });
    expect(bare).toEqual([]);
  });

  it('has entries beyond the schema only for existing fields', () => {
    const schemas = readSchemas();
    const isThere = (name: string) => {
      const dot = name.lastIndexOf('.');
      const message = schemas.getMessage(name.slice(0, dot));
      return message?.fields.some((field) => field.name === name.slice(dot + 1)) ?? false;
    };
    const named = [...Object.keys(fieldKeywords), ...promised, ...nullable];
    expect(named.filter((name) => !isThere(name))).toEqual([]);
  });

  it('breaks no client of the last release', () => {
    expect(breakingDifferences(readDocument('baseline'), document)).toEqual([]);
  });
});

/** Calls back with the pointer and the value of each example beside a schema. */
function eachExample(
  json: JsonValue,
  at: string,
  tell: (schema: string, example: JsonValue) => void,
): number {
  if (Array.isArray(json))
    return json.reduce<number>((sum, one, index) => sum + eachExample(one, `${at}/${index}`, tell), 0);
  if (!isObject(json)) return 0;
  const { example, schema } = json;
  if (isObject(schema) && example !== undefined) tell(`${at}/schema`, example);
  const own = isObject(schema) && example !== undefined ? 1 : 0;
  return Object.entries(json).reduce((sum, [name, inner]) => {
    const key = encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
    return name === 'example' ? sum : sum + eachExample(inner, `${at}/${key}`, tell);
  }, own);
}

function contentsWithoutExample(json: JsonValue): string[] {
  if (Array.isArray(json)) return json.flatMap(contentsWithoutExample);
  if (!isObject(json)) return [];
  const own = json['application/json'];
  const isBare = isObject(own) && own['example'] === undefined && own['examples'] === undefined;
  return [...(isBare ? ['application/json'] : []), ...Object.values(json).flatMap(contentsWithoutExample)];
}

describe('a breaking difference', () => {
  const speech = ['paths', '/audio/speech', 'post'];
  const account = ['components', 'schemas', 'Account'];
  const format = ['components', 'schemas', 'SynthesizeSpeechRequest', 'properties', 'response_format'];

  it.each<[string, readonly string[], (json: JsonObject) => void]>([
    ['a path that is gone', ['paths'], (paths) => delete paths['/models']],
    ['another operation id', speech, (operation) => Object.assign(operation, { operationId: 'speak' })],
    [
      'another kind of key',
      speech,
      (operation) => Object.assign(operation, { security: [{ adminKey: [] }] }),
    ],
    [
      'an answer of another type',
      [...speech, 'responses', '200', 'content'],
      (content) => delete content['audio/wav'],
    ],
    [
      'a header that is gone',
      [...speech, 'responses', '200', 'headers'],
      (headers) => delete headers['x-request-id'],
    ],
    ['a member that is gone', [...account, 'properties'], (members) => delete members['balance']],
    ['a member that may be absent', account, (schema) => Object.assign(schema, { required: ['id'] })],
    [
      'an answer of another type',
      [...account, 'properties', 'balance'],
      (balance) => Object.assign(balance, { type: 'number' }),
    ],
    [
      'an answer of one more type',
      [...account, 'properties', 'balance'],
      (balance) => Object.assign(balance, { type: ['string', 'null'] }),
    ],
    [
      'a member that a request must have',
      ['components', 'schemas', 'SynthesizeSpeechRequest'],
      (schema) => Object.assign(schema, { required: ['model', 'input', 'voice'] }),
    ],
    [
      'fewer values in a request',
      [...format, 'anyOf', '0'],
      (values) => Object.assign(values, { enum: ['mp3'] }),
    ],
    [
      'a shorter text in a request',
      ['components', 'schemas', 'SynthesizeSpeechRequest', 'properties', 'input'],
      (input) => Object.assign(input, { maxLength: 100 }),
    ],
    [
      'a parameter that is gone',
      ['paths', '/models', 'get'],
      (operation) => Object.assign(operation, { parameters: [] }),
    ],
    [
      'an alternative that a request no longer has',
      ['components', 'schemas', 'MessageContentInput'],
      (schema) => Object.assign(schema, { anyOf: [{ type: 'string' }] }),
    ],
  ])('is %s', (_what, path, change) => {
    const after = structuredClone(document);
    change(path.reduce((json, key) => inside(json, key), after));
    expect(breakingDifferences(document, after)).not.toEqual([]);
    expect(breakingDifferences(document, document)).toEqual([]);
  });

  it.each<[string, readonly string[], (json: JsonObject) => void]>([
    ['a new path', ['paths'], (paths) => Object.assign(paths, { '/new': paths['/models'] })],
    [
      'a new member of an answer',
      [...account, 'properties'],
      (members) => Object.assign(members, { more: { type: 'string' } }),
    ],
    [
      'a new member of a request',
      ['components', 'schemas', 'SynthesizeSpeechRequest', 'properties'],
      (members) => Object.assign(members, { speed: { type: 'number' } }),
    ],
    [
      'a new value in a request',
      [...format, 'anyOf', '0'],
      (values) => Object.assign(values, { enum: ['mp3', 'opus', 'flac', 'wav', 'pcm', 'aac'] }),
    ],
    [
      'a new error code',
      [...['components', 'schemas', 'Error', 'properties', 'error', 'properties', 'code']],
      (code) => Object.assign(code, { enum: ['new'] }),
    ],
  ])('is not %s', (_what, path, change) => {
    const after = structuredClone(document);
    change(path.reduce((json, key) => inside(json, key), after));
    expect(breakingDifferences(document, after)).toEqual([]);
  });
});

/** @returns an object; or a list, which is read as an object with its indexes as keys */
function inside(json: JsonObject, key: string): JsonObject {
  const value = json[key];
  if (typeof value !== 'object' || value === null) throw new Error(`the document has no ${key}`);
  return value as JsonObject;
}

describe('the pages', () => {
  const textOf = (page: string) => readFileSync(`docs/${page}.md`, 'utf8');

  it('name every path of the document in docs/rest.md', () => {
    const page = textOf('rest')
      .replaceAll('{account}', '{account_id}')
      .replaceAll('{key}', '{key_id}')
      .replaceAll(/\?[^`|]*/g, '');
    const paths = Object.keys(document['paths'] ?? {});
    const isNamed = (path: string) => [' ', '`'].some((before) => page.includes(`${before}${path}\``));
    expect(paths.length).toBeGreaterThan(60);
    expect(paths.filter((path) => !isNamed(path))).toEqual([]);
  });

  it('name every RPC in docs/clients.md, but those for administrators', () => {
    const page = textOf('clients');
    const rowOf = (service: string) => page.split('\n').find((line) => line.includes(`\`${service}\``)) ?? '';
    const services = ownServices(readSchemas()).filter(({ name }) => name !== 'AdminService');
    const missing = services.flatMap(({ typeName, methods }) =>
      methods
        .filter(({ name }) => !rowOf(typeName).includes(`\`${name}\``))
        .map(({ name }) => `${typeName}/${name}`),
    );
    expect(services.length).toBeGreaterThan(8);
    expect(missing).toEqual([]);
  });
});
