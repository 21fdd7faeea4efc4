import { existsSync, mkdirSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
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

/** Left free for the database. */
const spareBytes = 64 * 1_048_576;

/** Bytes of the disk of a folder that may be written. */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

export function hasSpace(folder: string, bytes: number): boolean {
  return bytes === 0 || bytes + spareBytes <= freeBytes(folder);
}

/** @throws Error if the disk has no space for so many bytes */
export function requireSpace(folder: string, bytes: number): void {
  if (hasSpace(folder, bytes)) return;
  const [needed, free] = [bytes, freeBytes(folder)].map((count) => Math.ceil(count / 1_000_000));
  throw new Error(`it needs ${needed} MB, and the disk of ${folder} has ${free} MB`);
}

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
