import { join } from 'node:path';

/** Length of `sun_path`, less its zero byte. */
export const socketPathBytesMax = 107;

const nameCharactersMax = 64;

/** The path of a Unix socket that no other process and no other number has. The name is only for people. */
export function socketPath(folder: string, name: string, pid: number, number: number): string {
  const shown = name.replace(/[^\w.-]/g, '-').slice(0, nameCharactersMax);
  return join(folder, `${shown}-${pid}-${number}.sock`);
}

/** The process that a socket in the folder belongs to; undefined for any other file. */
export function socketOwner(file: string): number | undefined {
  const [, pid] = /-(\d+)-\d+\.sock$/.exec(file) ?? [];
  return pid === undefined ? undefined : Number(pid);
}
