import { readFileSync } from 'node:fs';

/** The licences of third-party packages. The executable replaces this file, and embeds them. */
export function readNotices(): string {
  return readFileSync(new URL('../../THIRD-PARTY-NOTICES.md', import.meta.url), 'utf8');
}
