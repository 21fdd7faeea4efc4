import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { send, takeTurns } from '../harness/drive.ts';
import { rssMiB } from '../harness/processes.ts';
import type { Comparison, Fact, Group, Setting } from '../harness/result.ts';
import { openChatClient } from './chat-call.ts';
import { startParley, withChatServers } from './chat-servers.ts';

const root = resolve(import.meta.dirname, '../..');
const built = join(root, 'dist/src/main.js');
const executable = join(root, 'release/parley');
/** V8 has collected the garbage of the start by then. */
const idleMs = 6_000;
/** The server has collected its heap by then. */
const quietMs = 65_000;
/** An hour at five requests a second. */
const requestsOfAnHour = 18_000;
const requestsBefore = 2_000;

export const lifecycle: Group = {
  name: 'lifecycle',
  title: 'Start and memory',
  method:
    'Time from `parley serve` on a new data folder to ready, against `node -e 0`; idle memory; and memory of a server before a ' +
    `chat model after ${requestsOfAnHour} plain requests, an hour at five a second, against after ${requestsBefore}.`,
  charts: [],
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
    const facts: Fact[] = [
      { name: 'idle, from files', unit: 'MB resident', values: await idleMemory(fromFiles, setting) },
    ];
    const notes = main === built ? [] : ['Parley ran from its sources, which start slower than dist/.'];
    if (existsSync(executable)) {
      const values = await idleMemory([executable], setting);
      facts.push({ name: 'idle, the executable', unit: 'MB resident', values, aim: 'idleMemory' });
    } else {
      notes.push('The executable is not measured: `npm run build:binary` makes it.');
    }
    const start = { name: 'start to ready', yardstick: 'node -e 0', unit: 'ms', ...times };
    return { comparisons: [start, await memoryOfAnHour(setting)], facts, notes };
  },
};

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
async function withServe<T>(
  [program = '', ...before]: readonly string[],
  work: (readyMs: number, pid: number) => T | Promise<T>,
): Promise<T> {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
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
    rmSync(dataDir, { recursive: true });
  }
}

function memoryOfAnHour({ short, say }: Setting): Promise<Comparison> {
  const atOnce = 16;
  return withChatServers({ parley: startParley }, async ({ parley }) => {
    const client = openChatClient(parley, atOnce);
    const memoryAfter = async (requests: number) => {
      say(`${requests} requests`);
      await send(client.call, { atOnce, calls: short ? atOnce : requests });
      await sleep(short ? 0 : quietMs);
      return parley.rssMiB();
    };
    const before = await memoryAfter(requestsBefore);
    const after = await memoryAfter(requestsOfAnHour - requestsBefore);
    await client.close();
    const what = { name: `after ${requestsOfAnHour} requests`, yardstick: `after ${requestsBefore}` };
    return { ...what, unit: 'MiB resident', ours: [after], theirs: [before] };
  });
}
