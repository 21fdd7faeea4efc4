import { gitRevision } from './git-revision.ts';

/** The version of Parley, the same as in package.json. */
export const version = '0.1.0';

/** Describes the program in three lines for people and scripts: version, commit, schema of the database. */
export async function versionText(): Promise<string> {
  // The migrations bring the query builder along, which nothing else needs at this moment.
  const { migrations } = await import('../store/migrations/migrations.ts');
  const names = Object.keys(migrations).sort();
  return [
    version,
    `commit ${gitRevision() ?? 'unknown'}`,
    `schema ${names.length} (${names.at(-1) ?? 'none'})`,
  ].join('\n');
}
