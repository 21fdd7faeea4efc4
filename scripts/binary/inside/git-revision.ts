/** For the executable: the commit that it was built from. */

/** Set by the build. */
declare const builtFromCommit: string;

export function gitRevision(): string {
  return builtFromCommit;
}
