/** Memory and folder of the programs that Parley runs. */
import { totalmem } from 'node:os';
import { resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Log } from '../core/values/log.ts';
import { Supervisor } from '../supervisor/supervisor.ts';

const partOfMemory = 3 / 4;

export function openSupervisor(config: Config, log: Log): Supervisor {
  return new Supervisor({ log, ...programSurroundings(config) });
}

export function programSurroundings({ programs, programEnvironment: environment, dataDir }: Config) {
  const usableBytes = Math.min(totalmem(), process.constrainedMemory() || Infinity);
  return {
    environment,
    /** Memory for all programs together. Default: three quarters of what machine and cgroup have. */
    memoryBytesMax: programs.memoryBytesMax ?? Math.floor(usableBytes * partOfMemory),
    /** An absolute path, as programs may have another working directory. */
    socketDir: resolve(dataDir, 'sockets'),
  };
}
