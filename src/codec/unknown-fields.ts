/**
 * Refuses fields that a schema does not have, at every depth. A misspelt limit would otherwise count as absent and set
 * no limit.
 */
import type { DescField, DescMessage, JsonValue } from '@bufbuild/protobuf';
import { ParleyError } from '../core/values/errors.ts';
import { isObject } from '../core/values/json.ts';
import { quote } from '../core/values/quote.ts';
import { didYouMean } from '../core/values/suggestion.ts';

/** Paths that `error.param` may repeat. Others could contain anything. */
export const plainPath = /^[\w.[\]-]{1,200}$/;

interface JsonRules {
  /** Whether to refuse an empty list, which messages cannot distinguish from an absent one. Default: false. */
  readonly refusesEmptyLists?: boolean;
}

/** @throws `invalid_parameter` for the first JSON member that the message does not have */
export function refuseUnknownMembers(
  message: DescMessage,
  json: JsonValue,
  rules: JsonRules = {},
  path = '',
): void {
  // Messages with their own JSON form.
  if (message.typeName.startsWith('google.protobuf.') || !isObject(json)) return;
  const fields = new Map(message.fields.map((field) => [field.jsonName, field]));
  for (const [name, value] of Object.entries(json)) {
    const field = fields.get(name);
    const at = within(path, name);
    if (field === undefined) throw unknownField(path, name, [...fields.keys()]);
    if (rules.refusesEmptyLists && Array.isArray(value) && value.length === 0) throw emptyList(at);
    for (const [step, inner] of messagesIn(field, value))
      refuseUnknownMembers(inner.message, inner.json, rules, at + step);
  }
}

type MessageIn = readonly [step: string, { readonly message: DescMessage; readonly json: JsonValue }];

function messagesIn(field: DescField, json: JsonValue): readonly MessageIn[] {
  const { message } = field;
  if (message === undefined) return [];
  if (field.fieldKind === 'message') return [['', { message, json }]];
  if (Array.isArray(json)) return json.map((item, index) => [`[${index}]`, { message, json: item }]);
  return isObject(json)
    ? Object.entries(json).map(([key, item]) => [`.${key}`, { message, json: item }])
    : [];
}

/** @param known the names of the fields at the path */
export function unknownField(path: string, name: string, known: readonly string[]): ParleyError {
  const meant = didYouMean(name, known);
  const takes = known.length === 0 ? 'It takes none.' : `It takes ${known.join(', ')}.`;
  const hint = meant === undefined ? takes : `Did you mean \`${within(path, meant)}\`?`;
  return notAField(within(path, name), hint);
}

/** A field of an encoded message, which has no name. */
export function unknownNumber(path: string, number: number): ParleyError {
  return notAField(
    within(path, String(number)),
    'The schema of this server has no field of that number there.',
  );
}

export function notAField(path: string, hint: string): ParleyError {
  return invalid(path, `${quote(path)} is not a field of this request. ${hint}`);
}

function emptyList(path: string): ParleyError {
  return invalid(path, `\`${path}\` is empty. Name at least one value, or leave it out.`);
}

function invalid(path: string, message: string): ParleyError {
  return new ParleyError('invalid_parameter', { message, ...(plainPath.test(path) && { param: path }) });
}

function within(path: string, step: string): string {
  return path === '' ? step : `${path}.${step}`;
}
