import * as z from 'zod';

/** The settings that an engine of every kind has. */
export function engineOf<Kind extends string>(kind: Kind) {
  return {
    kind: z
      .literal(kind)
      .describe('The kind of engine: anthropic, builtin, local, openai, process or remote.'),
    disabled: z
      .boolean({ error: 'true or false' })
      .optional()
      .describe(
        'Whether the engine serves nothing for now. Models with another engine use that. Default: false.',
      ),
  };
}
