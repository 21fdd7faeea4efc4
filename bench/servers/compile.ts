/** Compiles the C sources of this folder with the machine's own compiler. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/**
 * Compiles `bench/servers/NAME.c`.
 *
 * @param folder gets the program
 * @returns the path of the program
 */
export function compile(name: string, folder: string, ...flags: readonly string[]): string {
  const program = join(folder, name);
  const source = join(import.meta.dirname, `${name}.c`);
  const { error, status, stderr } = spawnSync('cc', ['-O2', ...flags, '-o', program, source]);
  if (error || status !== 0) throw new Error(error?.message ?? `cc: ${stderr.toString().trim()}`);
  return program;
}
