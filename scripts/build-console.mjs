/**
 * Writes the files that a server hands to browsers, where `src/app/page-files.ts` finds them.
 *
 *   node scripts/build-console.mjs [FOLDER]      dist/console by default
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { consoleFiles } from './console/files.mjs';
import { root } from './setup/run.mjs';

const folder = resolve(process.argv[2] ?? join(root, 'dist', 'console'));
for (const [path, content] of Object.entries(await consoleFiles())) {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}
