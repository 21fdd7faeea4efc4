import { join } from 'node:path';

/** Length of `sun_path`, less its zero byte. */
const pathBytesMax = 107;
/** Leaves room for the numbers of a process and of its start. */
const folderBytesMax = 85;

export function fitsSockets(folder: string): boolean {
  return Buffer.byteLength(folder) <= folderBytesMax;
}

/** The path of a Unix socket that no other process and no other number has. The name is only for people. */
export function socketPath(folder: string, name: string, pid: number, number: number): string {
  const end = `-${pid}-${number}.sock`;
  const room = pathBytesMax - Buffer.byteLength(join(folder, end));
  return join(folder, name.replace(/[^\w.-]/g, '-').slice(0, room) + end);
}

/** The process that a socket in the folder belongs to; undefined for any other file. */
export function socketOwner(file: string): number | undefined {
  const [, pid] = /-(\d+)-\d+\.sock$/.exec(file) ?? [];
  return pid === undefined ? undefined : Number(pid);
}
