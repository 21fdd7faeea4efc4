import { existsSync, readFileSync } from 'node:fs';

/** The file, relative to the sources and to the build in dist/. */
const files = ['../../THIRD-PARTY-NOTICES.md', '../../../THIRD-PARTY-NOTICES.md'];

/** The licences of third-party packages. The executable replaces this file, and embeds them. */
export function readNotices(): string {
  const file = files.map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url));
  if (file === undefined) throw new Error('THIRD-PARTY-NOTICES.md not found beside this Parley.');
  return readFileSync(file, 'utf8');
}
