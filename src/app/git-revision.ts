import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the clone, seen from the sources and from the build in dist/. */
const roots = ['../..', '../../..'].map((path) => fileURLToPath(new URL(path, import.meta.url)));

/**
 * The commit of the clone that this file is in, with `-dirty` behind it where files were changed since; undefined where
 * there is no clone or no git. The executable has another version of this file.
 */
export function gitRevision(): string | undefined {
  // Without a look at the folder, git would find that of another project that Parley is installed in.
  const root = roots.find((folder) => existsSync(join(folder, '.git')));
  if (root === undefined) return undefined;
  const args = [
    '--no-optional-locks',
    '-C',
    root,
    'describe',
    '--always',
    '--abbrev=40',
    '--exclude=*',
    '--dirty',
  ];
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}
