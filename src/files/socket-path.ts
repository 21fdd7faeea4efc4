import { join } from 'node:path';

/** Length of `sun_path`, less its zero byte. */
export const socketPathBytesMax = 107;

/** The path of a Unix socket that no other process and no other number has. */
export function socketPath(folder: string, name: string, pid: number, number: number): string {
  return join(folder, `${name}-${pid}-${number}.sock`);
}

/** The process that a socket in the folder belongs to; undefined for any other file. */
export function socketOwner(file: string): number | undefined {
  const [, pid] = /-(\d+)-\d+\.sock$/.exec(file) ?? [];
  return pid === undefined ? undefined : Number(pid);
}
