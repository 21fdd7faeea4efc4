import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import type { PageFile, PageFiles } from '../transports/rest/page-routes.ts';

/** The folder that `scripts/build-console.mjs` writes. */
const folder = fileURLToPath(new URL('../../dist/console', import.meta.url));

/** This file exists only after a build of the folder. */
const document = 'api/v1/openapi.json';

/**
 * The files for browsers, by path on the server. Empty before the first build. Of a file with a compressed copy only the copy is
 * in memory, until a client asks for the file itself. The executable replaces this file, and embeds them.
 */
export function readPageFiles(): PageFiles {
  if (!existsSync(join(folder, document))) return new Map();
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const paths = entries.map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  const hasCopy = (path: string) => paths.includes(`${path}.gz`);
  const read = (path: string) => readFileSync(join(folder, path));
  const files = new Map(paths.filter((path) => !hasCopy(path)).map((path) => [path, read(path)]));
  const unpacked = paths.filter(hasCopy).map((path) => [path, unpack(files.get(`${path}.gz`))] as const);
  return new Map<string, PageFile>([...files, ...unpacked]);
}

function unpack(copy = Buffer.alloc(0)): () => Buffer {
  let content: Buffer | undefined;
  return () => {
    content ??= gunzipSync(copy);
    return content;
  };
}
