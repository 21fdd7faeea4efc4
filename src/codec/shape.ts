/** What the schema says of a message's JSON: its members and their names, and the form that stands for it. */
import { type DescField, type DescMessage, hasOption } from '@bufbuild/protobuf';
import {
  always_present as alwaysPresent,
  json_list as jsonList,
  json_union as jsonUnion,
  other_members as otherMembers,
} from '../../gen/parley/rest/v1/options_pb.ts';

export interface ObjectShape {
  readonly fields: readonly DescField[];
  /** Where the members go that no field takes; undefined where they are dropped. */
  readonly other: DescField | undefined;
}

/** What stands in JSON for a message: an object, an array, or whichever member is set. */
export type JsonForm = 'object' | 'list' | 'union';

export function formOf(message: DescMessage): JsonForm {
  if (hasOption(message, jsonUnion)) return 'union';
  return hasOption(message, jsonList) ? 'list' : 'object';
}

export function objectShape(message: DescMessage): ObjectShape {
  const other = message.fields.find((field) => hasOption(field, otherMembers));
  return { fields: message.fields.filter((field) => field !== other), other };
}

export function isAlwaysPresent(field: DescField): boolean {
  return hasOption(field, alwaysPresent);
}

/** The only field of a message whose JSON is an array. */
export function onlyField(message: DescMessage): DescField {
  const [field] = message.fields;
  if (field === undefined) throw new Error(`${message.typeName} has no field`);
  return field;
}
