import * as z from 'zod';

/** The setting `kind` of an engine. */
export function engineKind<Kind extends string>(kind: Kind) {
  return z.literal(kind).describe('The kind of engine: builtin, local, openai, process or remote.');
}
