/** `<dataDir>/server.json`: where the server on a data folder listens, for the commands that call it. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const serverFile = z.object({ baseUrl: z.url(), adminBaseUrl: z.url(), pid: z.int().positive() });
export type ServerFile = z.infer<typeof serverFile>;

const fileOf = (dataDir: string) => join(dataDir, 'server.json');

/** Written whole or not at all, for its owner only. */
export function writeServerFile(dataDir: string, server: ServerFile): void {
  const unfinished = `${fileOf(dataDir)}.${server.pid}`;
  writeFileSync(unfinished, `${JSON.stringify(server)}\n`, { mode: 0o600 });
  renameSync(unfinished, fileOf(dataDir));
}

export function removeServerFile(dataDir: string): void {
  rmSync(fileOf(dataDir), { force: true });
}

/** Undefined where no server has written it, or the one that did has died. */
export function readServerFile(dataDir: string): ServerFile | undefined {
  try {
    const server = serverFile.parse(JSON.parse(readFileSync(fileOf(dataDir), 'utf8')));
    return isAlive(server.pid) ? server : undefined;
  } catch {
    // Missing or unreadable is the same to a reader: nothing is known of a server.
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // A process of another user is one, too.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** A URL to call from this machine: a server that listens on every address is called on the loopback. */
export function localUrl(baseUrl: string): string {
  return baseUrl.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}
