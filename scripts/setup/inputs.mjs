/** Tells whether what a step was made from has changed since. Content decides, as dates change with every checkout. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from './project.mjs';

/**
 * A hash of the names and the content of files; of a folder, of all that it holds.
 *
 * @param {readonly string[]} inputs paths that exist
 */
export function digestOf(inputs) {
  const hash = createHash('sha256');
  for (const file of inputs.flatMap(filesOf)) {
    const content = readFileSync(file);
    hash.update(`${relative(root, file)}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

/**
 * @param {string} path
 * @returns {string[]}
 */
function filesOf(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .sort()
    .flatMap((name) => filesOf(join(path, name)));
}

/** What a step has noted when it was done, if it ever was. @param {string} path */
export function readNote(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}
