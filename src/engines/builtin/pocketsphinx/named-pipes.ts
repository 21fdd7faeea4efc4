/**
 * A pair of named pipes to a program that opens its files by name. The standard streams of a child of Node are sockets,
 * which cannot be opened as /dev/stdin and /dev/stdout.
 */
import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

export interface NamedPipes {
  /** The folder of the pipes, for this user only; other files for the program may lie there too. */
  readonly folder: string;
  /** The program reads this file: it gets what `write` is given, and its end when this process ends. */
  readonly requestPath: string;
  /** The program writes this file; it comes out of `responses`. */
  readonly responsePath: string;
  readonly responses: Readable;
  /** Sends a line of less than a page, whole, without waiting. Throws once the pipes are removed. */
  write(line: string): void;
  /** Closes both pipes and removes the folder with all that is in it. Called once. */
  remove(): Promise<void>;
}

const run = promisify(execFile);

/** Makes the pipes in a new folder within `parentFolder`. */
export async function createNamedPipes(parentFolder: string): Promise<NamedPipes> {
  const folder = await mkdtemp(join(parentFolder, 'parley-recogniser-'));
  const opened: number[] = [];
  const open = (path: string): number => {
    // For both directions, so that neither side waits for the other to open its end.
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
      // The number of a closed file may by now be another file's.
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

/** An utterance may be being written there in this moment. */
function removeFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
