import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the clone, relative to the sources and to the build in dist/. */
const roots = ['../..', '../../..'].map((path) => fileURLToPath(new URL(path, import.meta.url)));

/**
 * The commit of this file's clone, with the suffix `-dirty` if files have changed since; undefined without a clone or
 * git. The executable replaces this file.
 */
export function gitRevision(): string | undefined {
  // Without this check, git would report the commit of a project in which Parley is installed.
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
