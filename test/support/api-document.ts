/** Checks answers of the REST API against its OpenAPI document. */
import { readFileSync } from 'node:fs';
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { basePath } from '../../src/core/values/base-path.ts';
import { isObject } from '../../src/core/values/json.ts';

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
  /** Whether the answer broke off before its end. */
  readonly isCut?: boolean;
}

export interface ApiOperation {
  readonly id: string;
  readonly verb: string;
  /** Path with parameters in braces, from the root of the port. */
  readonly path: string;
  /** JSON pointer to its responses. */
  readonly pointer: string;
  readonly json: JsonObject;
}

/** Headers that an answer may have only if the document says so. */
const tellingHeaders = ['retry-after', 'x-should-retry', 'www-authenticate', 'idempotent-replayed'];

export function readDocument(name: 'openapi' | 'baseline' = 'openapi'): JsonObject {
  const file = new URL(`../../reference/${name}.json`, import.meta.url);
  const json: JsonValue = JSON.parse(readFileSync(file, 'utf8'));
  if (!isObject(json)) throw new Error(`${name}.json is not an object`);
  return json;
}

export class ApiDocument {
  readonly operations: readonly ApiOperation[];
  readonly #ajv: Ajv2020;

  /** @param isClosed whether an object may only have the members that the document names */
  constructor(json = readDocument(), isClosed = true) {
    this.operations = operationsOf(json);
    this.#ajv = new Ajv2020({ strict: false, allErrors: true, formats });
    this.#ajv.addSchema(isClosed ? closed(json) : json, 'parley');
  }

  find(verb: string, path: string): ApiOperation | undefined {
    const [own = ''] = path.split('?');
    return this.operations.find((one) => one.verb === verb && patternOf(one.path).test(own));
  }

  /** The differences between an answer and the document. */
  faultsOf(operation: ApiOperation, answer: ApiAnswer): string[] {
    const { status, headers, body } = answer;
    const responses = objectAt(operation.json, 'responses');
    const key = String(status) in responses ? String(status) : 'default';
    const response = responses[key];
    if (!isObject(response)) return [`${operation.id}: it does not have the status ${status}`];
    const documented = objectAt(response, 'headers');
    const unknown = tellingHeaders.filter((name) => headers[name] !== undefined && !(name in documented));
    const faults = unknown.map((name) => `${operation.id} ${status}: it does not have the header ${name}`);
    if (headers['x-request-id'] === undefined) faults.push(`${operation.id} ${status}: no x-request-id`);
    const [type = ''] = (headers['content-type'] ?? '').split(';');
    const content = objectAt(response, 'content');
    if (!(type in content)) return [...faults, `${operation.id} ${status}: it does not have ${type}`];
    if (answer.isCut) return faults;
    const schema = `${operation.pointer}/${key}/content/${escaped(type)}/schema`;
    const values = valuesIn(type, body.toString());
    faults.push(
      ...values
        .flatMap((value) => this.mismatches(schema, value))
        .map((fault) => `${operation.id} ${status}: ${fault}`),
    );
    if (status !== 200)
      faults.push(...codeFaults(`${operation.id} ${status}`, objectAt(content, type), values[0]));
    return faults;
  }

  /** The members of a value that the schema at a pointer into the document refuses. */
  mismatches(pointer: string, value: JsonValue): string[] {
    const validate = this.#ajv.getSchema(`parley${pointer}`);
    if (validate === undefined) throw new Error(`the document has nothing at ${pointer}`);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  }
}

const formats = {
  'date-time': (text: string) => !Number.isNaN(Date.parse(text)),
  int32: { type: 'number', validate: (value: number) => Math.abs(value) <= 2 ** 31 },
  int64: true,
  uri: (text: string) => URL.canParse(text),
  network: true,
  binary: true,
} as const;

function operationsOf(json: JsonObject): ApiOperation[] {
  return Object.entries(objectAt(json, 'paths')).flatMap(([key, item]) =>
    Object.entries(isObject(item) ? item : {}).flatMap(([verb, operation]) => {
      if (!isObject(operation)) return [];
      const isAtRoot = isObject(item) && 'servers' in item;
      const path = isAtRoot ? key : basePath + key;
      const pointer = `#/paths/${escaped(key)}/${verb}/responses`;
      return [
        { id: String(operation['operationId']), verb: verb.toUpperCase(), path, pointer, json: operation },
      ];
    }),
  );
}

/** Only the id of a model may contain slashes. */
function patternOf(path: string): RegExp {
  const pattern = path
    .replace(/[.]/g, '\\.')
    .replace('{id}', '.+')
    .replace(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${pattern}$`);
}

function escaped(key: string): string {
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));
}

/** The JSON documents in a body; for server-sent events one for each. */
function valuesIn(type: string, body: string): JsonValue[] {
  if (type === 'application/json') return [JSON.parse(body)];
  if (type !== 'text/event-stream') return [];
  const data = [...body.matchAll(/^data: (.*)$/gm)].map(([, text = '']) => text);
  return data.filter((text) => text !== '[DONE]').map((text): JsonValue => JSON.parse(text));
}

function codeFaults(name: string, { examples }: JsonObject, body: JsonValue | undefined): string[] {
  const { error } = isObject(body) ? body : {};
  if (!isObject(error) || !isObject(examples)) return [];
  const code = String(error['code']);
  return code in examples ? [] : [`${name}: it does not have the code ${code}`];
}

/** The same document, in which objects refuse other members by default. */
function closed(json: JsonValue): JsonObject {
  const close = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) return value.map(close);
    if (!isObject(value)) return value;
    const members = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, close(inner)]));
    const isOpen = value['type'] === 'object' && 'properties' in value && !('additionalProperties' in value);
    return isOpen ? { ...members, additionalProperties: false } : members;
  };
  const result = close(json);
  if (!isObject(result)) throw new Error('the document is not an object');
  return result;
}

function objectAt(json: JsonObject, name: string): JsonObject {
  const value = json[name];
  return isObject(value) ? value : {};
}
