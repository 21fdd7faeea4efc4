/** podman with images and containers in a folder, so that it leaves the machine as it is. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { missingPrograms } from '../../support/audio-files.ts';

/** The reason why no container can run here; undefined if one can. */
export const noPodman =
  missingPrograms('podman', 'runc') ?? (process.geteuid?.() === 0 ? undefined : 'containers need root here');

export interface Podman {
  readonly env: NodeJS.ProcessEnv;
  /** Returns the output of a command that must succeed. */
  run(...args: string[]): string;
}

export function podmanIn(folder: string): Podman {
  const [engine, storage] = [join(folder, 'containers.conf'), join(folder, 'storage.conf')];
  // runc works with both versions of cgroups side by side, and without systemd. The tests may not raise their own limits.
  writeFileSync(
    engine,
    `[containers]
default_ulimits = ["nofile=4096:4096", "nproc=1000:1000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
[network]
network_config_dir = "${join(folder, 'networks')}"
`,
  );
  const roots = ['graphroot', 'runroot'].map((name) => `${name} = "${join(folder, name)}"`);
  writeFileSync(storage, `[storage]\ndriver = "vfs"\n${roots.join('\n')}\n`);
  const env = { ...process.env, CONTAINERS_CONF: engine, CONTAINERS_STORAGE_CONF: storage };
  return {
    env,
    run(...args) {
      const { status, stdout, stderr } = spawnSync('podman', args, { env, encoding: 'utf8' });
      if (status !== 0) throw new Error(`podman ${args.join(' ')} ended with ${status}: ${stderr}`);
      return stdout.trim();
    },
  };
}
