/** The documents in `reference/`, as the pages and the search need them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../setup/run.mjs';

export interface SchemaObject {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, SchemaObject>>;
  readonly items?: SchemaObject;
  readonly anyOf?: readonly SchemaObject[];
}

interface Content {
  readonly schema?: SchemaObject;
}

interface OperationObject {
  readonly operationId: string;
  readonly 'x-title': string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly { readonly name?: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, { readonly content: Readonly<Record<string, Content>> }>>;
}

interface Document {
  readonly tags: readonly { readonly name: string; readonly 'x-displayName'?: string }[];
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<
    Record<
      string,
      Partial<Record<'get' | 'post', OperationObject>> & {
        readonly servers?: readonly { readonly url: string }[];
      }
    >
  >;
  readonly components: { readonly schemas: Readonly<Record<string, SchemaObject>> };
}

interface ApiOperation {
  readonly id: string;
  readonly title: string;
  readonly tag: string;
  readonly verb: 'GET' | 'POST';
  /** From the root of the server. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly string[];
  /** Of the bodies of request and answer. */
  readonly schemas: readonly SchemaObject[];
}

export interface ApiDocument {
  readonly groups: readonly { readonly title: string; readonly operations: readonly ApiOperation[] }[];
  readonly operations: readonly ApiOperation[];
  resolve(schema: SchemaObject): SchemaObject;
}

export function readApiDocument(): ApiDocument {
  const { tags, servers, paths, components } = readJson<Document>('openapi');
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    (['get', 'post'] as const).flatMap((verb) => {
      const operation = item[verb];
      const base = (item.servers ?? servers)[0]?.url.replace(/\/$/, '') ?? '';
      return operation === undefined ? [] : [described(operation, verb, base + path)];
    }),
  );
  const groups = tags.map((tag) => ({
    title: tag['x-displayName'] ?? tag.name,
    operations: operations.filter((operation) => operation.tag === tag.name),
  }));
  const resolve = (schema: SchemaObject): SchemaObject =>
    schema.$ref === undefined
      ? schema
      : resolve(components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  return { groups, operations: groups.flatMap((group) => group.operations), resolve };
}

function described(operation: OperationObject, verb: 'get' | 'post', path: string): ApiOperation {
  const { operationId, tags, summary, description = '', parameters = [], requestBody, responses } = operation;
  const contents = [requestBody?.content ?? {}, responses['200']?.content ?? {}].flatMap((one) =>
    Object.values(one),
  );
  return {
    id: operationId,
    title: operation['x-title'],
    tag: tags[0] ?? '',
    verb: verb === 'get' ? 'GET' : 'POST',
    path,
    summary,
    description,
    parameters: parameters.flatMap(({ name }) => name ?? []),
    schemas: contents.flatMap(({ schema }) => schema ?? []),
  };
}

export type RpcPackages = readonly {
  readonly name: string;
  readonly service: {
    readonly name: string;
    readonly methods: readonly { readonly name: string; readonly path: string; readonly comment: string }[];
  };
  readonly messages: readonly {
    readonly name: string;
    readonly fields: readonly { readonly name: string }[];
  }[];
}[];

export function readRpcPackages(): RpcPackages {
  return readJson<{ readonly packages: RpcPackages }>('rpcs').packages;
}

function readJson<T>(name: string): T {
  return JSON.parse(readFileSync(join(root, 'reference', `${name}.json`), 'utf8')) as T;
}
