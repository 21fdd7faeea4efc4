import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the clone. The sources and the bundles in dist/src are at the same depth below it. */
const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The commit of this file's clone, with the suffix `-dirty` if files have changed since; undefined without a clone or
 * git. The executable replaces this file.
 */
export function gitRevision(): string | undefined {
  // Without this check, git would report the commit of a project in which Parley is installed.
  if (!existsSync(join(root, '.git'))) return undefined;
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
