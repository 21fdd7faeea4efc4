/** The OpenAPI document, typed for the pages and for the scripts that write them. It is generated, so its shape is known. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly maxLength?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

export interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
  readonly example?: unknown;
}

export interface Content {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, unknown>>;
}

export interface Answer {
  readonly description: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content: Readonly<Record<string, Content>>;
}

interface OperationObject {
  readonly operationId: string;
  /** A noun. */
  readonly 'x-title': string;
  readonly tags: readonly string[];
  /** The RPC that does the same, with an equal request if that is JSON. */
  readonly 'x-grpc'?: { readonly rpc: string; readonly request?: unknown };
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, Answer>>;
}

interface ApiDocument {
  readonly tags: readonly { readonly name: string; readonly 'x-displayName'?: string }[];
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
}

type PathItem = Partial<Record<'get' | 'post', OperationObject>> & Pick<Partial<ApiDocument>, 'servers'>;

export type KeyKind = 'apiKey' | 'adminKey';

/** An operation with everything that it refers to. */
export interface Operation extends Omit<OperationObject, 'parameters'> {
  readonly verb: 'GET' | 'POST';
  /** Path from the root of the server. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** Kind of key that the operation needs; undefined for none. */
  readonly key: KeyKind | undefined;
}

export interface Api {
  /** In the order in which a new user needs them. */
  readonly groups: readonly { readonly title: string; readonly operations: readonly Operation[] }[];
  readonly operations: readonly Operation[];
  /** The schema that a reference names, with the members beside the reference. */
  resolve(schema: Schema): Schema;
}

export const documentPath = '/api/v1/openapi.json';

export async function fetchJson<T>(path: string): Promise<T> {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`The server answered ${response.status} for ${path}.`);
  return (await response.json()) as T;
}

export function readApi({ tags, servers, paths, components }: ApiDocument): Api {
  const operations = Object.entries(paths).flatMap(([path, item]) => {
    const base = (item.servers ?? servers)[0]?.url ?? '';
    return (['get', 'post'] as const).flatMap((verb): Operation[] => {
      const operation = item[verb];
      if (operation === undefined) return [];
      const parameters = (operation.parameters ?? []).map(
        (one) => components.parameters[lastWord(one.$ref)] ?? one,
      );
      const kinds = operation.security.flatMap((scheme) => Object.keys(scheme) as KeyKind[]);
      const fullPath = (base === '/' ? '' : base) + path;
      const upper = verb === 'get' ? 'GET' : 'POST';
      return [{ ...operation, verb: upper, path: fullPath, parameters, key: kinds[0] }];
    });
  });
  const resolve = (schema: Schema): Schema => {
    if (schema.$ref === undefined) return schema;
    const { $ref: reference, ...beside } = schema;
    return { ...resolve(components.schemas[lastWord(reference)] ?? {}), ...beside };
  };
  const groups = tags.map((tag) => ({
    title: tag['x-displayName'] ?? tag.name,
    operations: operations.filter((operation) => operation.tags.includes(tag.name)),
  }));
  return { groups, operations, resolve };
}

function lastWord(reference = ''): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}
