import { z } from 'zod';
import { configSchema } from './config-schema.ts';

/** The JSON Schema of parley.yaml for editors, as text. Draft 7 is what YAML language servers read. */
export function configJsonSchema(): string {
  const schema = z.toJSONSchema(configSchema, { io: 'input', target: 'draft-7' });
  const titled = { title: 'The configuration of Parley (parley.yaml)', ...schema };
  return `${JSON.stringify(titled, null, 2)}\n`;
}
