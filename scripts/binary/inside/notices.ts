/** Replaces src/app/notices.ts in the executable. */
import { getAsset } from 'node:sea';

export function readNotices(): string {
  return getAsset('THIRD-PARTY-NOTICES.md', 'utf8');
}
