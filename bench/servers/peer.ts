/** Servers of others, each a program of its own. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { pinnedTo, serverCore } from '../harness/cores.ts';
import { cpuMsOf, rssMiB } from '../harness/processes.ts';
import type { Served } from './child.ts';

const installMsMax = 600_000;

/** Runs a command of an installation. Throws where it fails, such as without a registry. */
export const install = (program: string, args: readonly string[], cwd: string) =>
  promisify(execFile)(program, args, { cwd, timeout: installMsMax, maxBuffer: 2 ** 26 });

export interface PeerCommand {
  readonly name: string;
  /** Peers cannot choose a free port themselves. */
  readonly command: (port: number) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly readyPath: string;
  readonly startMsMax: number;
}

export async function startPeer({
  name,
  command,
  env,
  cwd,
  readyPath,
  startMsMax,
}: PeerCommand): Promise<Served> {
  const port = await freePort();
  const [program = '', ...args] = [...pinnedTo(serverCore), ...command(port)];
  const child = spawn(program, args, { stdio: 'ignore', cwd, env: { ...process.env, ...env } });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  const origin = `http://127.0.0.1:${port}`;
  await waitUntilReady(name, origin + readyPath, child, startMsMax);
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

async function waitUntilReady(name: string, url: string, child: ChildProcess, startMsMax: number) {
  const deadline = performance.now() + startMsMax;
  for (;;) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok) return;
    if (child.exitCode !== null) throw new Error(`${name} exited with ${child.exitCode}`);
    if (performance.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`${name} did not answer in ${startMsMax} ms`);
    }
    await sleep(50);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
