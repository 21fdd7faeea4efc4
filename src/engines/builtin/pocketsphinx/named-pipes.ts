/**
 * A pair of named pipes to a program that opens files by name. Node gives a child process sockets as standard streams, and
 * these cannot be opened as /dev/stdin and /dev/stdout.
 */
import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

export interface NamedPipes {
  /** Contains the pipes, readable by this user only. Other files for the program may be put there. */
  readonly folder: string;
  /** The program reads the lines of `write` from this file, and its end when this process ends. */
  readonly requestPath: string;
  /** The program writes to this file; read it from `responses`. */
  readonly responsePath: string;
  readonly responses: Readable;
  /** Sends a line of less than a memory page, without waiting. @throws once the pipes are removed */
  write(line: string): void;
  /** Closes both pipes and removes the folder with its contents. Call it once. */
  remove(): Promise<void>;
}

const run = promisify(execFile);

/** Creates the pipes in a new folder within `parentFolder`. */
export async function createNamedPipes(parentFolder: string): Promise<NamedPipes> {
  const folder = await mkdtemp(join(parentFolder, 'parley-recogniser-'));
  const opened: number[] = [];
  const open = (path: string): number => {
    // Opened for reading and writing, so that neither side waits for the other to open it.
    const file = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    opened.push(file);
    return file;
  };
  try {
    const [requestPath, responsePath] = [join(folder, 'requests'), join(folder, 'responses')];
    await run('mkfifo', ['-m', '600', requestPath, responsePath]);
    const requests = open(requestPath);
    const responses = new Socket({ fd: open(responsePath), readable: true, writable: false });
    return pipesIn({ folder, requestPath, responsePath, responses }, requests);
  } catch (error) {
    for (const file of opened) closeSync(file);
    await removeFolder(folder);
    throw error;
  }
}

function pipesIn(
  paths: Pick<NamedPipes, 'folder' | 'requestPath' | 'responsePath' | 'responses'>,
  requests: number,
): NamedPipes {
  let isRemoved = false;
  return {
    ...paths,
    write: (line) => {
      // A closed descriptor may have been reused for another file.
      if (isRemoved) throw new Error('the pipes are removed');
      writeSync(requests, `${line}\n`);
    },
    remove: async () => {
      isRemoved = true;
      closeSync(requests);
      paths.responses.destroy();
      await removeFolder(paths.folder);
    },
  };
}

/** Retries, as an utterance may be written there at the same time. */
function removeFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
