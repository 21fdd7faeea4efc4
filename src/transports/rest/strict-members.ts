/**
 * Refuses members and query parameters that a request does not have. A misspelt `scopes` would otherwise make a key with all of
 * them, and a misspelt filter would list everybody.
 */
import type { DescMessage, JsonObject, JsonValue } from '@bufbuild/protobuf';
import { ParleyError } from '../../core/errors.ts';
import { quote } from '../../core/quote.ts';
import { didYouMean } from '../../core/suggestion.ts';

/** Names that `error.param` repeats: a client may send anything. */
const plainName = /^[\w.-]{1,100}$/;

/**
 * @param inPath the members that the path names; a body may repeat them
 * @throws `invalid_parameter` for unknown members, empty lists, and members that differ from the path
 */
export function checkMembers(
  body: JsonObject,
  input: DescMessage,
  inPath: Readonly<Record<string, string>>,
): void {
  const known = input.fields.map(({ jsonName }) => jsonName).filter((name) => !(name in inPath));
  for (const [name, value] of Object.entries(body)) {
    if (Object.hasOwn(inPath, name)) refuseOther(name, value, inPath[name]);
    else if (!known.includes(name)) throw unknown(name, 'field', known);
    else if (Array.isArray(value) && value.length === 0) {
      throw invalid(name, `\`${name}\` is empty. Name at least one value, or leave it out.`);
    }
  }
}

/**
 * @param known the parameters that the request takes
 * @throws `invalid_parameter` for unknown and for repeated parameters
 */
export function checkQuery(query: URLSearchParams, input: DescMessage, known: readonly string[]): void {
  const lists = input.fields.filter(({ fieldKind }) => fieldKind === 'list').map(({ jsonName }) => jsonName);
  for (const name of new Set(query.keys())) {
    if (!known.includes(name)) throw unknown(name, 'query parameter', known);
    if (query.getAll(name).length > 1 && !lists.includes(name)) {
      throw invalid(name, `\`${name}\` is given more than once.`);
    }
  }
}

function refuseOther(name: string, value: JsonValue, inPath: string | undefined): void {
  if (value === null || value === inPath) return;
  throw invalid(name, `\`${name}\` differs from the path. Leave it out.`);
}

function unknown(name: string, kind: string, known: readonly string[]): ParleyError {
  const meant = didYouMean(name, known);
  const takes = known.length === 0 ? 'It takes none.' : `It takes ${known.join(', ')}.`;
  const hint = meant === undefined ? takes : `Did you mean \`${meant}\`?`;
  return invalid(name, `${quote(name)} is not a ${kind} of this request. ${hint}`);
}

function invalid(name: string, message: string): ParleyError {
  return new ParleyError('invalid_parameter', { message, ...(plainName.test(name) && { param: name }) });
}
