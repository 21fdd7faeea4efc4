import * as z from 'zod';
import { builtinEngine } from './builtin-engine.ts';
import { localEngine } from './local-engine.ts';
import { openaiEngine } from './openai-engine.ts';
import { processEngine } from './process-engine.ts';
import { remoteEngine } from './remote-engine.ts';
import { text } from './setting-types.ts';

/** All kinds of engines. */
const engineKinds = [builtinEngine, localEngine, openaiEngine, processEngine, remoteEngine] as const;
const kindAllowed = `one of ${engineKinds.map(({ shape }) => shape.kind.value).join(', ')}`;

const engine = z.discriminatedUnion('kind', engineKinds, {
  error: (issue) =>
    issue.code === 'invalid_union' ? kindAllowed : 'a map with a `kind`, such as `kind: builtin`',
});

const engineName = text(
  /^[a-z][a-z0-9-]{0,63}$/,
  'at most 64 lower-case letters, digits and hyphens, starting with a letter',
);

export const defaultEngines: Record<string, z.input<typeof engine>> = { builtin: { kind: 'builtin' } };

export const engines = z
  .record(engineName, engine, { error: 'a map of engine names to engines' })
  .prefault(defaultEngines)
  .describe('The engines that serve the models. You choose the name of each; models refer to it.');
