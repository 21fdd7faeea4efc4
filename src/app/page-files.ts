import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder that `scripts/build-console.mjs` writes, relative to the build in dist/ and to the sources. */
const folders = ['../../console', '../../dist/console'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/** This file exists only in the built folder. */
const document = 'api/v1/openapi.json';

/**
 * The files for browsers, by path on the server. Empty before the first build. The executable replaces this file, and
 * embeds them.
 */
export function readPageFiles(): ReadonlyMap<string, Buffer> {
  const folder = folders.find((path) => existsSync(join(path, document)));
  if (folder === undefined) return new Map();
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const files = entries.map((entry) => join(entry.parentPath, entry.name));
  return new Map(files.map((file) => [relative(folder, file), readFileSync(file)]));
}
