/**
 * Facts that all parts of a release share. `epoch` is the time of the commit in seconds, `output` the folder of the files.
 *
 * @typedef {{ version: string, epoch: string, output: string }} Release
 * @typedef {Release & { executable: string, arch: 'x64' | 'arm64' }} Program a release with an executable, and Node's name of its processor
 */

/** Debian's names of the processors, which images use too. */
export const debianArch = /** @type {const} */ ({ x64: 'amd64', arm64: 'arm64' });

/**
 * Why a release cannot be made; undefined if it can.
 *
 * @param {{ version: string, packageVersion: string, changelog: string, changed: string }} facts `changed` lists changed files
 */
export function refusalOf({ version, packageVersion, changelog, changed }) {
  if (!/^\d+\.\d+\.\d+(-[0-9a-z.]+)?$/.test(version))
    return 'Name the version, such as `npm run release -- 1.2.3`.';
  if (version !== packageVersion)
    return `package.json has version ${packageVersion}: change it to ${version} first.`;
  if (!changelog.split('\n').some((line) => line.startsWith(`## [${version}]`)))
    return `CHANGELOG.md has no section "## [${version}]": write it first.`;
  if (changed !== '') return `These files differ from the commit: commit or remove them first.\n${changed}`;
  return undefined;
}
