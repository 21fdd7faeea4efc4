import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemCode } from './reason.ts';

/**
 * Makes a folder, and those above it that are missing, each with this mode. Does nothing where it is there. Node's own
 * recursive form does not return where nothing can be made below a folder that there is, as in /proc or in a working
 * folder that was deleted. @throws the error of the system
 */
export function makeFolder(path: string, mode = 0o777): void {
  const error = errorOfMaking(path, mode);
  if (error === undefined) return;
  const parent = dirname(path);
  if (systemCode(error) !== 'ENOENT' || parent === path) throw error;
  makeFolder(parent, mode);
  const again = errorOfMaking(path, mode);
  if (again !== undefined) throw again;
}

/** Undefined where the folder is there afterwards, whoever made it. */
function errorOfMaking(path: string, mode: number): unknown {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (!isFolder(path)) return error;
  }
  return undefined;
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    // What is in the way is told by the error of making it.
    return false;
  }
}
