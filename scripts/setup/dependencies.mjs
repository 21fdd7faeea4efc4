/** node_modules, as package-lock.json has them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readNote } from './inputs.mjs';
import { installLocked } from './npm.mjs';
import { paths, root } from './project.mjs';

/** Which platform the packages are for, as a folder may be shared with a container or a machine of another kind. */
const platform = `${process.platform}-${process.arch}`;
const platformNote = join(paths.modules, '.parley-platform');

/** What npm notes of an installation once it is complete, whoever asked for it. */
const npmNote = join(paths.modules, '.package-lock.json');

/** @type {import('./step.mjs').Step} */
export const dependencies = {
  doing: 'Installing the dependencies into node_modules (npm ci)',

  async isDone() {
    const installed = readNote(npmNote);
    if (installed === undefined || (readNote(platformNote) ?? platform) !== platform) return false;
    return isInstalled(JSON.parse(readNote(paths.lockfile) ?? '{}'), JSON.parse(installed));
  },

  async work(again) {
    await installLocked(root, again);
    writeFileSync(platformNote, platform);
  },
};

/**
 * Whether all that a lockfile names is installed. A package may be missing where it is optional: most of those are for
 * other platforms.
 *
 * @typedef {{ version?: string, integrity?: string, optional?: boolean }} LockedPackage
 * @typedef {{ packages: Record<string, LockedPackage> }} Lockfile
 * @param {Lockfile} wanted
 * @param {Lockfile} installed
 */
export function isInstalled(wanted, installed) {
  return Object.entries(wanted.packages).every(([place, { version, integrity, optional = false }]) => {
    const found = installed.packages[place];
    if (place === '' || found === undefined) return place === '' || optional;
    return found.version === version && (integrity === undefined || found.integrity === integrity);
  });
}
