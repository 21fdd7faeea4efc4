import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemCode } from './reason.ts';

/**
 * Creates a folder and its missing parents, each with this mode. Does nothing if it exists. Node's recursive mkdir
 * never returns if an existing parent refuses new folders, such as /proc or a deleted working directory.
 * @throws the system error
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

/** Undefined if the folder exists afterwards, whoever created it. */
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
    // mkdir's error describes the obstacle.
    return false;
  }
}
