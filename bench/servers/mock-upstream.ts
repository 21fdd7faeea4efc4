/** The chat model of `mock-upstream.c`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { pinnedTo } from '../harness/cores.ts';
import { inFolder } from '../harness/folder.ts';
import { compile } from './compile.ts';

export interface Upstream {
  readonly origin: string;
  stop(): Promise<void>;
}

/**
 * @param core the only core that it may use, where `taskset` is installed
 * @param port Default: a free one
 */
export function startMockUpstream(core?: number, port = 0): Promise<Upstream> {
  return inFolder(async (folder) => {
    const [program = '', ...args] = [...pinnedTo(core), compile('mock-upstream', folder), `${port}`];
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [listening] = await once(createInterface(child.stdout), 'line');
    return {
      origin: `http://127.0.0.1:${listening}`,
      async stop() {
        const ended = once(child, 'exit');
        child.kill();
        await ended;
      },
    };
  });
}
