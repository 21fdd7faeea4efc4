import { z } from 'zod';
import { builtinEngine } from './builtin.ts';
import { openaiEngine } from './openai.ts';
import { remoteEngine } from './remote.ts';
import { text } from './setting.ts';

/** A further kind of engine is one more entry here, told apart by its `kind`. */
const engineKinds = [builtinEngine, openaiEngine, remoteEngine] as const;
const kindAllowed = `one of ${engineKinds.map(({ shape }) => shape.kind.value).join(', ')}`;

const engine = z.discriminatedUnion('kind', engineKinds, {
  error: (issue) =>
    issue.code === 'invalid_union' ? kindAllowed : 'a map with a `kind`, such as `kind: builtin`',
});

const engineName = text(
  /^[a-z][a-z0-9-]{0,63}$/,
  'lower-case letters, digits and hyphens, a letter first, at most 64',
);

export const defaultEngines: Record<string, z.input<typeof engine>> = { builtin: { kind: 'builtin' } };

export const engines = z
  .record(engineName, engine, { error: 'a map of engine names to engines' })
  .prefault(defaultEngines)
  .describe(
    'What does the work. Each engine has a name of your choice, by which models refer to it, and a `kind`.',
  );
