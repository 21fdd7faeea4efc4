/** Replaces src/app/git-revision.ts in the executable. */

/** Defined by the build. */
declare const builtFromCommit: string;

export function gitRevision(): string {
  return builtFromCommit;
}
