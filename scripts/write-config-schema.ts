/** Writes parley.schema.json, with which editors complete and check parley.yaml. Run it after a change of settings. */
import { writeFileSync } from 'node:fs';
import { configJsonSchema } from './config-schema.ts';

writeFileSync(new URL('../parley.schema.json', import.meta.url), configJsonSchema());
