/** Finds NaN and infinities. JSON has neither, except for numbers such as `1e999`, so an upstream would get `null` or a text in their place. */
import { isMessage } from '@bufbuild/protobuf';

/** The path of the first NaN or infinity in a message or a JSON object, such as `logit_bias.50256`; undefined if there is none. */
export function pathOfNonFinite(value: object): string | undefined {
  return search(value)?.slice(1);
}

function search(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : '';
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return undefined;
  // A message has few of its fields, so this takes a fifth of the time of a look at each.
  for (const name of Object.keys(value)) {
    const member = (value as Readonly<Record<string, unknown>>)[name];
    const path = typeof member === 'string' ? undefined : search(member);
    if (path !== undefined) return pathOf(value, name, member, path);
  }
  return undefined;
}

/** With the field's name in JSON, also of a field that stands for its oneof. */
function pathOf(value: object, name: string, member: unknown, path: string): string {
  if (Array.isArray(value)) return `[${name}]${path}`;
  if (!isMessage(value)) return `.${name}${path}`;
  const isChoice = typeof member === 'object' && member !== null && 'case' in member && !isMessage(member);
  const field = isChoice ? String(member.case) : name;
  const jsonName = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return `.${jsonName}${isChoice ? path.replace(/^\.value/, '') : path}`;
}
