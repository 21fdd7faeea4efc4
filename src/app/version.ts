import { migrations } from '../store/migrations/migrations.ts';
import { gitRevision } from './git-revision.ts';

/** The version of Parley, the same as in package.json. */
export const version = '0.1.0';

/** Three lines for people and scripts: the version, the commit, and the schema of the database. */
export function versionText(): string {
  const schemas = Object.keys(migrations);
  return [
    version,
    `commit ${gitRevision() ?? 'unknown'}`,
    `schema ${schemas.length} (${schemas.at(-1)})`,
  ].join('\n');
}
