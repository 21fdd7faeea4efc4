/** Where things are in this clone. Set-up runs on any Node from 20 on and imports nothing that has to be installed. */
import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export const paths = {
  /** What set-up notes for itself: its lock, and what it should not try again today. */
  notes: join(root, '.setup'),
  modules: join(root, 'node_modules'),
  lockfile: join(root, 'package-lock.json'),
  build: join(root, 'dist'),
  /** The Node that Parley runs on: a link to the one at hand, or one that set-up has brought. */
  node: join(root, '.runtime', 'bin', 'node'),
};

/** The least version in package.json's `engines.node`, such as `24.21`. */
export function requiredNodeVersion() {
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const least = /^>=\s*(\d+(?:\.\d+)*)$/.exec(engines.node)?.[1];
  if (least === undefined) throw new Error(`engines.node is not of the form >=x.y: ${engines.node}`);
  return least;
}

/** The environment of a program of this project: its Node and its tools come first on PATH. */
export function projectEnvironment() {
  const folders = [join(root, '.runtime', 'bin'), join(paths.modules, '.bin'), process.env['PATH'] ?? ''];
  return { ...process.env, PATH: folders.join(delimiter) };
}
