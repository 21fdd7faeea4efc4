/** The index of the search in the reference and the guides. The page loads it when someone begins to search. */
import { type ErrorCode, errorTable } from '../../src/core/values/errors.ts';
import type { Guide } from './guides.ts';
import type { ApiDocument, RpcPackages, SchemaObject } from './reference-documents.ts';

/** Title, place, address, and the other words in lower case. */
export type SearchEntry = readonly [title: string, place: string, path: string, words: string];

export function searchIndex(guides: readonly Guide[], api: ApiDocument, rpcs: RpcPackages): SearchEntry[] {
  return [...operationEntries(api), ...errorEntries(), ...guideEntries(guides), ...rpcEntries(rpcs)];
}

function guideEntries(guides: readonly Guide[]): SearchEntry[] {
  return guides.flatMap(({ title: guide, path, sections }) =>
    sections.map(({ title, level, anchor, text }): SearchEntry => {
      const isWhole = level === 1;
      return [title, isWhole ? 'Guide' : guide, isWhole ? path : `${path}#${anchor}`, wordsOf(text, title)];
    }),
  );
}

function operationEntries(api: ApiDocument): SearchEntry[] {
  return api.operations.map((operation): SearchEntry => {
    const { id, title, verb, path, summary, description, parameters, schemas } = operation;
    const fields = [...parameters, ...schemas.flatMap((schema) => [...fieldsOf(api, schema)])];
    return [
      title,
      `${verb} ${path}`,
      `/docs/api/${id}`,
      wordsOf([id, summary, description, ...fields].join(' '), ''),
    ];
  });
}

/** The names of all members, with those of inner objects. */
function fieldsOf(api: ApiDocument, schema: SchemaObject, seen = new Set<SchemaObject>()): Set<string> {
  const own = api.resolve(schema);
  if (seen.has(own)) return new Set();
  seen.add(own);
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

function rpcEntries(packages: RpcPackages): SearchEntry[] {
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
