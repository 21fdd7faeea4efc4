import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { drive, takeTurns } from '../harness/drive.ts';
import { rssMiB } from '../harness/processes.ts';
import type { Comparison, Fact, Group, Setting } from '../harness/result.ts';
import { openChatClient } from './chat-call.ts';
import { startParley, withChatServers } from './chat-servers.ts';

const root = resolve(import.meta.dirname, '../..');
const built = join(root, 'dist/src/main.js');
const lookMs = 2;
/** V8 has collected the garbage of the start by then. */
const idleMs = 6_000;
/** An hour at five requests a second. */
const requestsOfAnHour = 18_000;
const requestsBefore = 2_000;

export const lifecycle: Group = {
  name: 'lifecycle',
  title: 'Start and memory',
  method:
    'Time from `parley serve` on a new data folder to ready, against `node -e 0`; idle memory; and memory of a server before a ' +
    `chat model after ${requestsOfAnHour} plain requests, an hour at five a second, against after ${requestsBefore}.`,
  async run(setting) {
    // A short run tests the sources.
    const main = !setting.short && existsSync(built) ? built : join(root, 'src/main.ts');
    const { comparison, idle } = await startAndIdle(main, setting);
    const memory = await memoryOfAnHour(setting);
    return {
      comparisons: [comparison, memory],
      facts: [idle],
      notes: main === built ? [] : ['Parley ran from its sources, which start slower than dist/.'],
    };
  },
};

async function startAndIdle(
  main: string,
  { short, say }: Setting,
): Promise<{ comparison: Comparison; idle: Fact }> {
  say('start to ready');
  const { ours, theirs } = await takeTurns(
    { theirs: async () => nodeMs(), ours: () => timeStart(main) },
    { rounds: short ? 1 : 7, warmUps: short ? 0 : 1 },
  );
  say('idle memory');
  const server = await start(main);
  await sleep(short ? 0 : idleMs);
  const idle = { name: 'idle', unit: 'MiB resident', values: [rssMiB(server.child.pid ?? Number.NaN)] };
  await stop(server);
  return {
    comparison: { name: 'start to ready', yardstick: 'node -e 0', unit: 'ms', ours, theirs },
    idle,
  };
}

function nodeMs(): number {
  const startedAt = performance.now();
  spawnSync(process.execPath, ['-e', '0']);
  return performance.now() - startedAt;
}

interface Running {
  readonly child: ChildProcess;
  readonly dataDir: string;
  readonly readyMs: number;
}

async function timeStart(main: string): Promise<number> {
  const server = await start(main);
  await stop(server);
  return server.readyMs;
}

/** The server writes `server.json` when it is ready. */
async function start(main: string): Promise<Running> {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const startedAt = performance.now();
  const args = [main, 'serve', '--port', '0', '--data-dir', dataDir];
  const child = spawn(process.execPath, args, { stdio: 'ignore', cwd: dataDir });
  while (!existsSync(join(dataDir, 'server.json'))) {
    if (child.exitCode !== null) throw new Error(`the server exited with ${child.exitCode}`);
    await sleep(lookMs);
  }
  return { child, dataDir, readyMs: performance.now() - startedAt };
}

async function stop({ child, dataDir }: Running): Promise<void> {
  const ended = once(child, 'exit');
  child.kill();
  await ended;
  rmSync(dataDir, { recursive: true });
}

function memoryOfAnHour({ short, say }: Setting): Promise<Comparison> {
  const atOnce = 16;
  return withChatServers({ parley: startParley }, async ({ parley }) => {
    const client = openChatClient(parley, atOnce);
    const send = async (requests: number) => {
      say(`${requests} requests`);
      for (let sent = 0; sent < (short ? atOnce : requests); sent += atOnce) {
        await drive(parley, client.call, { atOnce, forMs: 0 });
      }
      await sleep(short ? 0 : idleMs);
      return parley.rssMiB();
    };
    const before = await send(requestsBefore);
    const after = await send(requestsOfAnHour - requestsBefore);
    await client.close();
    return {
      name: `after ${requestsOfAnHour} requests`,
      yardstick: `after ${requestsBefore}`,
      unit: 'MiB resident',
      ours: [after],
      theirs: [before],
    };
  });
}
