import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { takeTurns } from '../harness/drive.ts';
import { inFolder } from '../harness/folder.ts';
import { rssMiB } from '../harness/processes.ts';
import type { Fact, Group, Setting } from '../harness/result.ts';
import { runShell } from './programs.ts';

const root = resolve(import.meta.dirname, '../..');
const built = join(root, 'dist/src/main.js');
const executable = join(root, 'release/parley');
/** V8 has collected the garbage of the start by then. */
const idleMs = 6_000;

export const lifecycle: Group = {
  name: 'lifecycle',
  title: 'Start and memory',
  method:
    'Time from `parley serve` on a new data folder to ready, against `node -e 0`; idle memory; and CPU of `parley --version`.',
  charts: [],
  needs: ['bash'],
  async run(setting) {
    const { short, say } = setting;
    // A short run tests the sources.
    const main = !short && existsSync(built) ? built : join(root, 'src/main.ts');
    const fromFiles = [process.execPath, main];
    say('start to ready');
    const times = await takeTurns(
      { theirs: startNode, ours: () => withServe(fromFiles, (readyMs) => readyMs) },
      short ? { rounds: 1 } : { rounds: 7, warmUps: 1 },
    );
    say('idle memory');
    const isBuilt = main === built;
    const facts: Fact[] = [
      {
        name: 'idle, from files',
        unit: 'MB resident',
        values: await idleMemory(fromFiles, setting),
        ...(isBuilt && { aim: 'idleMemory' as const }),
      },
      {
        name: '`parley --version`',
        unit: 'ms CPU',
        values: await versionCpu(main, setting),
        ...(isBuilt && { aim: 'versionCpu' as const }),
      },
    ];
    const notes = isBuilt
      ? []
      : ['Parley ran from its sources, without the aims of dist/: `npm run build` makes it.'];
    if (existsSync(executable)) {
      const values = await idleMemory([executable], setting);
      facts.push({ name: 'idle, the executable', unit: 'MB resident', values, aim: 'idleExecutable' });
    } else {
      notes.push('The executable is not measured: `npm run build:binary` makes it.');
    }
    const start = { name: 'start to ready', yardstick: 'node -e 0', unit: 'ms', ...times };
    return { comparisons: [start], facts, notes };
  },
};

async function versionCpu(main: string, { short }: Setting): Promise<number[]> {
  const values: number[] = [];
  for (let start = 0; start < (short ? 1 : 7); start++) {
    const { cpuMs } = await runShell('"$NODE" "$MAIN" --version', { NODE: process.execPath, MAIN: main });
    values.push(cpuMs);
  }
  return values;
}

async function startNode(): Promise<number> {
  const startedAt = performance.now();
  spawnSync(process.execPath, ['-e', '0']);
  return performance.now() - startedAt;
}

async function idleMemory(command: readonly string[], { short }: Setting): Promise<number[]> {
  const values: number[] = [];
  for (let start = 0; start < (short ? 1 : 3); start++) {
    const idle = await withServe(command, async (_, pid) => {
      await sleep(short ? 0 : idleMs);
      return rssMiB(pid);
    });
    values.push((idle * 2 ** 20) / 1e6);
  }
  return values;
}

/** Runs `work` beside `parley serve`. The server writes `server.json` when it is ready. */
function withServe<T>(
  [program = '', ...before]: readonly string[],
  work: (readyMs: number, pid: number) => T | Promise<T>,
): Promise<T> {
  return inFolder(async (dataDir) => {
    const startedAt = performance.now();
    const args = [...before, 'serve', '--port', '0', '--data-dir', dataDir];
    const child = spawn(program, args, { stdio: 'ignore', cwd: dataDir });
    while (!existsSync(join(dataDir, 'server.json'))) {
      if (child.exitCode !== null) throw new Error(`the server exited with ${child.exitCode}`);
      await sleep(2);
    }
    try {
      return await work(performance.now() - startedAt, child.pid ?? Number.NaN);
    } finally {
      child.kill();
      await once(child, 'exit');
    }
  });
}
