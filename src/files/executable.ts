import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

/**
 * The file of a program, or undefined if there is none that can be executed.
 * @param program a path, or a name to look for
 * @param path the folders to look in, in the form of PATH
 */
export function findExecutable(program: string, path: string): string | undefined {
  const places = program.includes('/')
    ? [resolve(program)]
    : path
        .split(delimiter)
        .filter(Boolean)
        .map((folder) => join(folder, program));
  return places.find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Whether the process exists, of whatever user. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
