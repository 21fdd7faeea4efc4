import { gitRevision } from './git-revision.ts';

/** The version of Parley, the same as in package.json. */
export const version = '0.1.0';

/** Three lines for people and scripts: the version, the commit, and the schema of the database. */
export async function versionText(): Promise<string> {
  // Loaded only here: the migrations import the query builder.
  const { migrations } = await import('../store/migrations/migrations.ts');
  const names = Object.keys(migrations).sort();
  return [
    version,
    `commit ${gitRevision() ?? 'unknown'}`,
    `schema ${names.length} (${names.at(-1) ?? 'none'})`,
  ].join('\n');
}
