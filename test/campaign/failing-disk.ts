/** A disk that fails, by `test/support/disk-faults.c`. */
import { spawnSync } from 'node:child_process';
import { type Folder, scratchFolder } from '../support/command-line.ts';
import { PayingServer } from '../support/kept-promises.ts';
import { PayingClients } from '../support/paying-clients.ts';
import type { Round } from './scenario.ts';

export const missingCompiler =
  spawnSync('cc', ['--version']).status === 0 ? undefined : 'there is no C compiler';

interface Faults {
  readonly kind: 'write' | 'sync' | 'power';
  /** Every call whose number is a multiple of this fails. */
  readonly every: number;
  /** Calls are counted while this file exists. Default: always */
  readonly whileFile?: string;
  /** Decides which writes a power failure loses. */
  readonly seed?: number;
}

export class FailingDisk {
  readonly #library: string;

  constructor(folder: Folder) {
    this.#library = folder.file('disk-faults.so');
    const source = new URL('../support/disk-faults.c', import.meta.url).pathname;
    const { status, stderr } = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-o', this.#library, source]);
    if (status !== 0) throw new Error(String(stderr));
  }

  /** The environment of a program that has this disk. */
  env({ kind, every, whileFile, seed = 1 }: Faults): Record<string, string> {
    return {
      LD_PRELOAD: this.#library,
      DISK_FAULTS: kind,
      DISK_FAULTS_EVERY: String(every),
      DISK_FAULTS_SEED: String(seed),
      ...(whileFile && { DISK_FAULTS_WHILE: whileFile }),
    };
  }
}

/** A stopped server with its accounts, on a disk that can fail, and the clients that pay it. */
export async function prepareFailingDisk(round: Round) {
  const folder = scratchFolder();
  const server = new PayingServer(folder);
  round.defer(() => server.end());
  const disk = new FailingDisk(folder);
  const clients = new PayingClients(round.random, (status) => status === 503);
  const keys = await server.firstStart();
  await server.serving?.close();
  return { folder, server, disk, clients, keys };
}
