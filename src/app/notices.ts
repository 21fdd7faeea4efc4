import { existsSync, readFileSync } from 'node:fs';

/** Beside the sources, and beside the build in dist/. */
const files = ['../../THIRD-PARTY-NOTICES.md', '../../../THIRD-PARTY-NOTICES.md'];

/** The licences of what Parley is made with. The executable has them inside and another version of this file. */
export function readNotices(): string {
  const file = files.map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url));
  if (file === undefined) throw new Error('THIRD-PARTY-NOTICES.md is not beside this Parley.');
  return readFileSync(file, 'utf8');
}
