/** A root folder with an executable and its C library, and with a separate network that leads nowhere. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const namespaces = ['--net', '--mount'];

/** The reason why this machine cannot have such a root; undefined if it can. */
export const noCleanRoot =
  spawnSync('unshare', [...namespaces, 'true']).status === 0
    ? undefined
    : 'this user may not make a network and a root folder of its own (unshare)';

export interface CleanRoot {
  /** The folder as seen from outside. */
  readonly path: string;
  /** Starts the executable, as `/parley`, in the root. */
  start(...args: string[]): ChildProcess;
  /** Runs a program of this machine in the root's network. */
  reach(...command: string[]): { readonly status: number | null; readonly stdout: string };
  remove(): Promise<void>;
}

/** The libraries that the executable links to: `libc` and those of Node's build. */
function librariesOf(executable: string): string[] {
  const listed = execFileSync('ldd', [executable], { encoding: 'utf8' });
  return [...listed.matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path);
}

export async function cleanRoot(executable: string): Promise<CleanRoot> {
  const path = mkdtempSync(join(tmpdir(), 'parley-root-'));
  for (const folder of ['proc', 'tmp', 'data']) mkdirSync(join(path, folder), { mode: 0o700 });
  copyFileSync(executable, join(path, 'parley'));
  for (const library of librariesOf(executable)) {
    mkdirSync(join(path, dirname(library)), { recursive: true });
    copyFileSync(library, join(path, library));
  }
  // The process keeps the network and the mounts for as long as its standard input is open.
  const script = 'mount -t proc proc "$0/proc" && ip link set lo up && echo ready && exec cat';
  const keeper = spawn('unshare', [...namespaces, 'sh', '-c', script, path]);
  await new Promise((resolve, reject) => {
    keeper.stdout.once('data', resolve);
    keeper.once('exit', () => reject(new Error('the root could not be made')));
  });
  const into = [`--target=${keeper.pid}`, ...namespaces];
  return {
    path,
    start: (...args) => spawn('nsenter', [...into, 'chroot', path, '/parley', ...args], { env: withPath() }),
    reach: (...command) =>
      spawnSync('nsenter', [`--target=${keeper.pid}`, '--net', ...command], { encoding: 'utf8' }),
    remove: async () => {
      const left = new Promise((resolve) => keeper.once('exit', resolve));
      keeper.stdin.end();
      await left;
      rmSync(path, { recursive: true });
    },
  };
}

/** A PATH that finds `chroot`. In the root it leads nowhere. */
function withPath() {
  return { PATH: process.env['PATH'] };
}
