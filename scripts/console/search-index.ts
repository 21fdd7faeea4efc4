/** The index of the search in the reference and the guides. The page loads it when someone begins to search. */
import type { Api, Operation, Schema } from '../../console/docs/document.ts';
import type { Package, RpcDocument } from '../../console/docs/rpc-document.ts';
import type { SearchEntry } from '../../console/docs/search-index.ts';
import { type ErrorCode, errorTable } from '../../src/core/values/errors.ts';
import type { Guide } from './guides.ts';

export function searchIndex(
  guides: readonly Guide[],
  api: Api,
  { packages }: RpcDocument,
): readonly SearchEntry[] {
  return [...operationEntries(api), ...errorEntries(), ...guideEntries(guides), ...rpcEntries(packages)];
}

function guideEntries(guides: readonly Guide[]): SearchEntry[] {
  return guides.flatMap(({ title: guide, path, sections }) =>
    sections.map(({ title, level, anchor, text }): SearchEntry => {
      const isWhole = level === 1;
      return [title, isWhole ? 'Guide' : guide, isWhole ? path : `${path}#${anchor}`, wordsOf(text, title)];
    }),
  );
}

function operationEntries(api: Api): SearchEntry[] {
  return api.groups.flatMap(({ operations }) =>
    operations.map((operation): SearchEntry => {
      const { operationId, summary, description, parameters, verb, path } = operation;
      const names = parameters.map(({ name }) => name);
      const fields = schemasOf(operation).flatMap((schema) => [...fieldsOf(api, schema)]);
      const text = [operationId, summary, description, ...names, ...fields].join(' ');
      return [operation['x-title'], `${verb} ${path}`, `/docs/api/${operationId}`, wordsOf(text, '')];
    }),
  );
}

/** The schemas of the bodies of request and answer. */
function schemasOf({ requestBody, responses }: Operation): readonly Schema[] {
  const contents = [requestBody?.content ?? {}, responses['200']?.content ?? {}];
  return contents.flatMap((one) => Object.values(one)).flatMap(({ schema }) => schema ?? []);
}

/** The names of all members, also of inner objects. @param seen references, as a schema may contain itself */
function fieldsOf(api: Api, schema: Schema, seen = new Set<string>()): Set<string> {
  const { $ref: reference } = schema;
  if (reference !== undefined && seen.has(reference)) return new Set();
  if (reference !== undefined) seen.add(reference);
  const own = api.resolve(schema);
  const { properties = {}, items, anyOf = [] } = own;
  const inner = [...Object.values(properties), ...(items ? [items] : []), ...anyOf];
  return new Set([...Object.keys(properties), ...inner.flatMap((one) => [...fieldsOf(api, one, seen)])]);
}

function errorEntries(): SearchEntry[] {
  const codes = Object.keys(errorTable) as ErrorCode[];
  return codes.map((code) => {
    const { http, grpc } = errorTable[code];
    return [code, `Error ${http}`, `/docs/guides/errors#${code}`, `error ${http} ${grpc.toLowerCase()}`];
  });
}

function rpcEntries(packages: readonly Package[]): SearchEntry[] {
  return packages.flatMap(({ name, service, messages }) => [
    ...service.methods.map(
      (method): SearchEntry => [
        method.name,
        `RPC of ${name}`,
        `/docs/rpcs#${method.path}`,
        wordsOf(method.comment, method.name),
      ],
    ),
    ...messages.map(
      (message): SearchEntry => [
        message.name.split('.').at(-1) ?? '',
        `Message of ${name}`,
        `/docs/rpcs#${message.name}`,
        wordsOf(message.fields.map((field) => field.name).join(' '), ''),
      ],
    ),
  ]);
}

/** Each word once. Names in camel case also count as their parts. */
function wordsOf(text: string, title: string): string {
  const parts = (from: string) =>
    [from, from.replace(/([a-z])([A-Z])/g, '$1 $2')]
      .join(' ')
      .toLowerCase()
      .match(/[\p{L}\p{N}_]{2,}/gu) ?? [];
  const inTitle = new Set(title.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []);
  return [...new Set([...parts(title), ...parts(text)])].filter((word) => !inTitle.has(word)).join(' ');
}
