/** A request built from the fields of a form, to send it or to show it as a command. */
import type { Operation, Schema } from './document.ts';

/** Texts of the fields by their names; a list for fields with several values. */
export interface Draft {
  readonly parameters: Readonly<Record<string, string>>;
  /** The JSON body as text. */
  readonly json: string;
  readonly form: Readonly<Record<string, string | readonly string[] | File>>;
}

export interface Prepared {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | FormData | undefined;
}

export const jsonType = 'application/json';
export const formType = 'multipart/form-data';

export function bodySchema({ requestBody }: Operation, type: string): Schema | undefined {
  return requestBody?.content[type]?.schema;
}

export function emptyDraft(operation: Operation): Draft {
  const example = operation.requestBody?.content[jsonType]?.example;
  const parameters = operation.parameters.map(({ name, example }) => [
    name,
    example === undefined ? '' : String(example),
  ]);
  const json = example === undefined ? '' : JSON.stringify(example, null, 2);
  return { parameters: Object.fromEntries(parameters), json, form: {} };
}

export function prepare(operation: Operation, draft: Draft, key: string): Prepared {
  const given = (name: string) => draft.parameters[name] ?? '';
  const named = (place: string) =>
    operation.parameters.filter((one) => one.in === place && given(one.name) !== '');
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    given(name).split('/').map(encodeURIComponent).join('/'),
  );
  const query = new URLSearchParams();
  for (const { name, schema } of named('query')) {
    const values = schema.type === 'array' ? given(name).split(/[\s,]+/) : [given(name)];
    for (const value of values) query.append(name, value);
  }
  const headers = Object.fromEntries(named('header').map(({ name }) => [name.toLowerCase(), given(name)]));
  const body = bodyOf(operation, draft);
  return {
    method: operation.verb,
    path: query.size === 0 ? path : `${path}?${query}`,
    headers: {
      ...(key !== '' && { authorization: `Bearer ${key}` }),
      ...headers,
      ...(typeof body === 'string' && { 'content-type': jsonType }),
    },
    body,
  };
}

function bodyOf(operation: Operation, { json, form }: Draft): Prepared['body'] {
  if (bodySchema(operation, formType) !== undefined) {
    const data = new FormData();
    for (const [name, value] of Object.entries(form)) {
      for (const one of [value].flat()) if (one !== '') data.append(name, one);
    }
    return data;
  }
  if (bodySchema(operation, jsonType) === undefined || json.trim() === '') return undefined;
  return json;
}
