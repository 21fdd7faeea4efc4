import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder that `scripts/build-console.mjs` writes. */
const folder = fileURLToPath(new URL('../../dist/console', import.meta.url));

/** This file exists only after a build of the folder. */
const document = 'api/v1/openapi.json';

/**
 * The files for browsers, by path on the server. Empty before the first build. The executable replaces this file, and
 * embeds them.
 */
export function readPageFiles(): ReadonlyMap<string, Buffer> {
  if (!existsSync(join(folder, document))) return new Map();
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const files = entries.map((entry) => join(entry.parentPath, entry.name));
  return new Map(files.map((file) => [relative(folder, file), readFileSync(file)]));
}
