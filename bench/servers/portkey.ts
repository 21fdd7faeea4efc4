/**
 * Portkey's gateway, the peer that relays chat. It is no dependency: npm installs it into the bench's own cache, without
 * running any script of a package.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { canPin } from '../harness/cores.ts';
import { cpuMsOf, rssMiB } from '../harness/processes.ts';
import type { Served } from './child.ts';

const version = '1.15.2';
/** With newer ones of those it asks for, it answers every stream on Node 24 with 500: "TypeError: immutable". */
const overrides = { '@hono/node-server': '1.3.3' };
const installMsMax = 120_000;
const startMsMax = 15_000;

/** @returns its entry point. Throws where it cannot be installed, such as without a registry. */
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

/** @param core the only core that it may use, where `taskset` is installed */
export async function startPortkey(entry: string, core?: number): Promise<Served> {
  const port = await freePort();
  const command = [process.execPath, entry, `--port=${port}`, '--headless'];
  if (canPin && core !== undefined) command.unshift('taskset', '-c', `${core}`);
  const [program = '', ...args] = command;
  const child = spawn(program, args, { stdio: 'ignore' });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  const origin = `http://127.0.0.1:${port}`;
  await answers(origin, child);
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

async function answers(origin: string, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + startMsMax;
  while (
    !(await fetch(origin).then(
      (answer) => answer.ok,
      () => false,
    ))
  ) {
    if (child.exitCode !== null) throw new Error(`Portkey ended with ${child.exitCode}`);
    if (performance.now() > deadline) throw new Error(`Portkey did not answer in ${startMsMax} ms`);
    await sleep(50);
  }
}

/** It can only be told a port, not asked for one. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
