import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Whether the current working folder was deleted. Nothing can be created in it. */
export function workingFolderIsGone(): boolean {
  try {
    process.cwd();
    return false;
  } catch {
    return true;
  }
}

/** The folder itself, or the nearest one above it that exists. */
export function nearestFolder(path: string): string {
  const absolute = resolve(path);
  return existsSync(absolute) ? absolute : nearestFolder(dirname(absolute));
}
