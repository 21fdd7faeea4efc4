/** Boots this machine's systemd in namespaces, on a copy of /usr that it may change, with empty settings and no network. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../support/command-line.ts';

const namespaces = ['--pid', '--mount', '--net', '--uts', '--ipc', '--cgroup'];
const systemd = '/usr/lib/systemd/systemd';

/** The root folder is in memory; dpkg sees the packages of this machine. */
const script = `
set -e
mount -t tmpfs none "$0"
cd "$0"
mkdir -p root
mount --bind root root
mkdir -p layers root/etc root/usr root/var/lib/dpkg root/run root/tmp root/var/tmp root/home root/proc root/sys root/dev root/root
for name in usr var/lib/dpkg; do
  mkdir -p layers/$name/upper layers/$name/work
  mount -t overlay none -o lowerdir=/$name,upperdir=layers/$name/upper,workdir=layers/$name/work root/$name
done
cd root
for name in bin sbin lib lib64; do ln -s usr/$name $name; done
mount -t proc none proc
mount -t sysfs none sys
mount -t cgroup2 none sys/fs/cgroup
mount -t tmpfs none dev
for name in null zero full random urandom tty; do touch dev/$name && mount --bind /dev/$name dev/$name; done
ln -s pts/ptmx dev/ptmx
mount -t tmpfs none run
rm -f usr/sbin/policy-rc.d
: > etc/machine-id
cp /etc/passwd /etc/group /etc/nsswitch.conf etc/
ip link set lo up
mkdir old
pivot_root . old
umount --lazy old
rmdir old
exec env -i container=namespaces PATH=/usr/sbin:/usr/bin ${systemd} --unit=basic.target`;

export interface Systemd {
  /** Runs a command in it and returns its output. Throws if it fails. */
  run(...command: string[]): string;
  /** The same for a shell, without an error if it fails. */
  try(script: string): { readonly code: number | null; readonly output: string };
  /** Copies a file of this machine. */
  put(file: string, path: string): void;
  stop(): Promise<void>;
}

/** The reason why this machine cannot boot it; undefined if it can. */
export const noSystemd = !existsSync(systemd)
  ? 'systemd is not installed'
  : spawnSync('unshare', [...namespaces, '--fork', 'true']).status === 0
    ? undefined
    : 'this user may not make namespaces (unshare)';

export async function bootSystemd(): Promise<Systemd> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-systemd-'));
  const options = [...namespaces, '--fork', '--kill-child'];
  const keeper = spawn('unshare', [...options, 'sh', '-c', script, folder], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  keeper.stderr.on('data', (chunk: Buffer) => {
    errors += chunk;
  });
  const inside = (command: readonly string[]) =>
    spawnSync('nsenter', [`--target=${childOf(keeper)}`, ...namespaces, ...command], {
      encoding: 'utf8',
      env: plain,
    });
  const attempt = (text: string) => {
    const { status, stdout, stderr } = inside(['sh', '-c', text]);
    return { code: status, output: stdout + stderr };
  };
  await until(() => {
    if (keeper.exitCode !== null) throw new Error(`systemd did not start: ${errors}`);
    return (
      childOf(keeper) !== undefined && /running|degraded/.test(attempt('systemctl is-system-running').output)
    );
  });
  return {
    run(...command) {
      const { status, stdout, stderr } = inside(command);
      if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}: ${stdout}${stderr}`);
      return stdout;
    },
    try: attempt,
    put: (file, path) => copyFileSync(file, `/proc/${childOf(keeper)}/root${path}`),
    async stop() {
      const left = new Promise((resolve) => keeper.once('exit', resolve));
      keeper.kill('SIGKILL');
      await left;
      rmSync(folder, { recursive: true });
    },
  };
}

const plain = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8' };

function childOf({ pid }: ChildProcess): string | undefined {
  const file = `/proc/${pid}/task/${pid}/children`;
  return existsSync(file) ? readFileSync(file, 'utf8').trim() || undefined : undefined;
}
