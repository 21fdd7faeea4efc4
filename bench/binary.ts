/**
 * The executable in figures: its size, how long it takes to start beside `node -e 0`, and the memory it holds when it has
 * nothing to do. Times are the least of several runs, each in turn, as other work on the machine only adds to them.
 *
 *   node bench/binary.ts [FILE, default release/parley] [runs, default 10]
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createReadStream, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const executable = resolve(process.argv[2] ?? 'release/parley');
const runs = Number(process.argv[3] ?? 10);

/** By then V8 has cleared away what starting has left. */
const idleMs = 12_000;
const lookMs = 2;

async function compressedBytes(...command: [string, ...string[]]): Promise<number> {
  const [program, ...args] = command;
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  createReadStream(executable).pipe(child.stdin);
  let bytes = 0;
  for await (const chunk of child.stdout) bytes += (chunk as Buffer).length;
  return bytes;
}

interface Started {
  readonly child: ChildProcess;
  readonly dataDir: string;
  readonly readyMs: number;
}

async function start(): Promise<Started> {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const started = performance.now();
  const child = spawn(executable, ['serve', '--port', '0', '--data-dir', dataDir], { stdio: 'ignore' });
  while (!existsSync(join(dataDir, 'server.json'))) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
    await sleep(lookMs);
  }
  return { child, dataDir, readyMs: performance.now() - started };
}

async function stop({ child, dataDir }: Started): Promise<void> {
  const end = new Promise((done) => child.once('exit', done));
  child.kill();
  await end;
  rmSync(dataDir, { recursive: true });
}

function nodeMs(): number {
  const started = performance.now();
  spawnSync(process.execPath, ['-e', '0']);
  return performance.now() - started;
}

async function times(): Promise<{ node: number; first: number; again: number }> {
  let [node, first, again] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let run = 0; run < runs; run += 1) {
    node = Math.min(node, nodeMs());
    const started = await start();
    first = Math.min(first, started.readyMs);
    const restarted = performance.now();
    spawnSync(executable, ['--version']);
    again = Math.min(again, performance.now() - restarted);
    await stop(started);
  }
  return { node, first, again };
}

/** Resident megabytes, in all and of the process's own: the rest are pages of the file, which the system can drop. */
async function idleMemory(): Promise<{ all: number; own: number }> {
  const started = await start();
  await sleep(idleMs);
  const status = readFileSync(`/proc/${started.child.pid}/status`, 'utf8');
  const megabytes = (name: string) =>
    (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024) / 1e6;
  await stop(started);
  return { all: megabytes('VmRSS'), own: megabytes('RssAnon') };
}

/** Pages of a file just written lie in the cache in larger pieces than of one that was read, and count as resident by the piece. */
function readAnew(file: string): void {
  execFileSync('dd', [`of=${file}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0', 'status=none']);
}

readAnew(executable);
const { node, first, again } = await times();
const memory = await idleMemory();
const rows = [
  ['on disk', `${(statSync(executable).size / 1e6).toFixed(1)} MB`, '140 MB'],
  ['compressed (zstd -9)', `${((await compressedBytes('zstd', '-9', '-c')) / 1e6).toFixed(1)} MB`, '60 MB'],
  ['compressed (xz -6)', `${((await compressedBytes('xz', '-6', '-c')) / 1e6).toFixed(1)} MB`, '60 MB'],
  ['`node -e 0`', `${node.toFixed(0)} ms`, ''],
  ['start to ready', `${first.toFixed(0)} ms`, `${(1.5 * node + 200).toFixed(0)} ms`],
  ['`parley --version`', `${again.toFixed(0)} ms`, ''],
  ['idle, resident', `${memory.all.toFixed(1)} MB`, '110 MB'],
  ['of it not of the file', `${memory.own.toFixed(1)} MB`, ''],
];
process.stdout.write('| | measured | at most |\n| --- | --- | --- |\n');
for (const row of rows) process.stdout.write(`| ${row.join(' | ')} |\n`);
