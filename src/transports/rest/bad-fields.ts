/** What is said of JSON members of the wrong kind. */
import type { JsonObject } from '@bufbuild/protobuf';
import type { Decoded } from '../../codec/codec.ts';
import { type ErrorCode, ParleyError } from '../../core/errors.ts';

/** Throws where a required member is absent or null: that is said before anything of the others. */
export function requireMembers(body: JsonObject, codes: Readonly<Record<string, ErrorCode>>): void {
  for (const [member, code] of Object.entries(codes)) {
    if (body[member] === undefined || body[member] === null) throw new ParleyError(code, { param: member });
  }
}

/** The message, where all its members are of their kind. */
export function accept<T>({ message, errors }: Decoded<T>, codeOf: (path: string) => ErrorCode): T {
  const [first] = errors;
  if (first === undefined) return message;
  throw new ParleyError(codeOf(first.path), {
    message: `\`${first.path}\` must be ${first.expected}.`,
    param: first.path,
  });
}
