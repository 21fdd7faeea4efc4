import * as z from 'zod';

/** The setting `kind` of an engine. */
export function engineKind<Kind extends string>(kind: Kind) {
  return z
    .literal(kind)
    .describe('The kind of engine: anthropic, builtin, local, openai, process or remote.');
}
