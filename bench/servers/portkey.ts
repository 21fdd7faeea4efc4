/** Portkey's gateway, a peer that relays chat. npm installs it into the bench's own cache, without running package scripts. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { canPin, serverCore } from '../harness/cores.ts';
import { cpuMsOf, rssMiB } from '../harness/processes.ts';
import type { Served } from './child.ts';

const version = '1.15.2';
/** With newer versions it answers every stream with status 500 on Node 24: "TypeError: immutable". */
const overrides = { '@hono/node-server': '1.3.3' };
const installMsMax = 120_000;
const startMsMax = 15_000;

/** @returns its entry point. Throws where npm cannot install it, such as without a registry. */
export async function installPortkey(cacheDir: string): Promise<string> {
  const folder = join(cacheDir, `portkey-${version}`);
  const entry = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  if (existsSync(join(folder, 'node_modules/.package-lock.json')) && existsSync(entry)) return entry;
  mkdirSync(folder, { recursive: true });
  const manifest = { private: true, dependencies: { '@portkey-ai/gateway': version }, overrides };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder];
  await promisify(execFile)('npm', args, { cwd: folder, timeout: installMsMax });
  return entry;
}

export async function startPortkey(entry: string): Promise<Served> {
  const port = await freePort();
  const command = [process.execPath, entry, `--port=${port}`, '--headless'];
  if (canPin) command.unshift('taskset', '-c', `${serverCore}`);
  const [program = '', ...args] = command;
  const child = spawn(program, args, { stdio: 'ignore' });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  const origin = `http://127.0.0.1:${port}`;
  await waitUntilReady(origin, child);
  const pid = child.pid ?? Number.NaN;
  return {
    origin,
    key: 'none',
    pid,
    cpuMs: async () => cpuMsOf(pid),
    rssMiB: () => rssMiB(pid),
    async stop() {
      process.off('exit', end);
      const ended = once(child, 'exit');
      end();
      await ended;
    },
  };
}

async function waitUntilReady(origin: string, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + startMsMax;
  for (;;) {
    const answer = await fetch(origin).catch(() => undefined);
    if (answer?.ok) return;
    if (child.exitCode !== null) throw new Error(`Portkey exited with ${child.exitCode}`);
    if (performance.now() > deadline) throw new Error(`Portkey did not answer in ${startMsMax} ms`);
    await sleep(50);
  }
}

/** Portkey cannot choose a free port itself. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
