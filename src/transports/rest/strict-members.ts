/** Refuses query parameters and body members that a request does not have. */
import type { DescMessage, JsonObject } from '@bufbuild/protobuf';
import { notAField, refuseUnknownMembers, unknownField } from '../../codec/unknown-fields.ts';
import { invalid } from '../../core/values/parameters.ts';

/**
 * @param inPath the members that the path names; a body may repeat them
 * @throws `invalid_parameter` for unknown members, empty lists, and members that differ from the path
 */
export function checkMembers(
  body: JsonObject,
  input: DescMessage,
  inPath: Readonly<Record<string, string>>,
): void {
  for (const [name, expected] of Object.entries(inPath)) {
    const { [name]: value = null } = body;
    if (value !== null && value !== expected)
      throw invalid(name, `\`${name}\` differs from the path. Leave it out.`);
  }
  refuseUnknownMembers(input, body, { refusesEmptyLists: true });
}

/**
 * @param known the parameters that the request takes
 * @throws `invalid_parameter` for unknown and for repeated parameters
 */
export function checkQuery(query: URLSearchParams, input: DescMessage, known: readonly string[]): void {
  const lists = input.fields.filter(({ fieldKind }) => fieldKind === 'list').map(({ jsonName }) => jsonName);
  for (const name of new Set(query.keys())) {
    if (known.length === 0) throw notAField(name, 'Its path takes no query parameters.');
    if (!known.includes(name)) throw unknownField('', name, known);
    if (query.getAll(name).length > 1 && !lists.includes(name)) {
      throw invalid(name, `\`${name}\` is given more than once.`);
    }
  }
}
