/** `<dataDir>/server.json`: the address of the server on a data folder, for the commands that call it. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { isAlive } from '../../files/executable.ts';
import { replaceFile } from '../../files/replace-file.ts';

const serverFile = z.object({
  baseUrl: z.url(),
  adminBaseUrl: z.url(),
  pid: z.int().positive(),
  /** The absolute path of its configuration file. */
  file: z.string().optional(),
  /** Number of reloads of the configuration, and why the last one failed. */
  reloads: z.object({ count: z.int(), problem: z.string().optional() }),
});
export type ServerFile = z.infer<typeof serverFile>;

const fileOf = (dataDir: string) => join(dataDir, 'server.json');

/** Writes the file atomically, readable by its owner only. */
export function writeServerFile(dataDir: string, server: ServerFile): void {
  replaceFile(fileOf(dataDir), `${JSON.stringify(server)}\n`);
}

export function removeServerFile(dataDir: string): void {
  rmSync(fileOf(dataDir), { force: true });
}

/** Undefined if there is no file, or its server has died. */
export function readServerFile(dataDir: string): ServerFile | undefined {
  try {
    const server = serverFile.parse(JSON.parse(readFileSync(fileOf(dataDir), 'utf8')));
    return isAlive(server.pid) ? server : undefined;
  } catch {
    // The file is missing or malformed.
    return undefined;
  }
}

/** Replaces the wildcard address by the loopback address, which can be called. */
export function localUrl(baseUrl: string): string {
  return baseUrl.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}
