/**
 * Writes reference/: the OpenAPI document and the description of the RPCs, both made from the schemas. Run it after a change of
 * proto/ or of error codes.
 */
import { writeFileSync } from 'node:fs';
import { openApiDocument } from './reference/openapi.ts';
import { rpcDocument } from './reference/rpcs.ts';
import { readSchemas } from './reference/schemas.ts';

const schemas = readSchemas();
for (const [name, document] of [
  ['openapi', openApiDocument(schemas)],
  ['rpcs', rpcDocument(schemas)],
] as const) {
  writeFileSync(
    new URL(`../reference/${name}.json`, import.meta.url),
    `${JSON.stringify(document, null, 1)}\n`,
  );
}
