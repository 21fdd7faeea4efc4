/** `<dataDir>/first-run.json`: the address and the keys of the server that `serve --demo` started first. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { replaceFile } from '../files/replace-file.ts';
import { sync } from '../store/sqlite/database/data-folder.ts';

const firstRunFile = z.object({ baseUrl: z.url(), apiKey: z.string(), adminKey: z.string() });
export type FirstRun = Readonly<z.infer<typeof firstRunFile>>;

export function firstRunPath(dataDir: string): string {
  return join(dataDir, 'first-run.json');
}

/** The keys of an earlier start; undefined if the file is missing or malformed. */
export function readFirstRun(dataDir: string): FirstRun | undefined {
  try {
    return firstRunFile.parse(JSON.parse(readFileSync(firstRunPath(dataDir), 'utf8')));
  } catch {
    // The file is a convenience, so a malformed one is not an error.
    return undefined;
  }
}

/** Writes the address of the running server into the file of an earlier start, if there is one. */
export function updateFirstRun(dataDir: string, baseUrl: string): void {
  const firstRun = readFirstRun(dataDir);
  if (firstRun === undefined || firstRun.baseUrl === baseUrl) return;
  replaceFile(firstRunPath(dataDir), firstRunText({ ...firstRun, baseUrl }));
}

export function firstRunText(firstRun: FirstRun): string {
  return `${JSON.stringify(firstRun, null, 2)}\n`;
}

export function writeDurably(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600 });
  sync(path);
}
