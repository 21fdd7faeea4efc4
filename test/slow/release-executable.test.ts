/** What a release makes of the executable: an archive, a Debian package that systemd runs, and an image that podman runs. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeDebianPackage } from '../../scripts/release/debian.mjs';
import { makeImage } from '../../scripts/release/image.mjs';
import { makeArchive } from '../../scripts/release/tar-archive.mjs';
import { missingPrograms } from '../support/audio-files.ts';
import { buildMsMax, builtExecutable } from '../support/built-executable.ts';
import { scratchFolder, until } from '../support/command-line.ts';
import { bootSystemd, noSystemd, type Systemd } from './release/booted-systemd.ts';
import { noPodman, type Podman, podmanIn } from './release/podman.ts';

const folder = scratchFolder();
afterAll(() => folder.remove());
const noPackage = missingPrograms('dpkg-deb');
for (const reason of [noPackage, noSystemd, noPodman].filter((one) => one !== undefined))
  process.stderr.write(`NOT TESTED: a part of the release (${reason})\n`);
const why = (reason: string | undefined) => (reason === undefined ? '' : `: ${reason}`);

function inFolder(name: string, executable: string) {
  const output = folder.file(name);
  mkdirSync(output, { recursive: true });
  return { version: '1.2.3', epoch: '1764000000', output, executable, arch: 'x64' as const };
}

function shown(command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stderr}`);
  return stdout;
}

let executable: string;
beforeAll(async () => {
  executable = await builtExecutable();
}, buildMsMax);

describe('the files of a release', () => {
  const makers = [
    ['archive', makeArchive, undefined],
    ['Debian package', makeDebianPackage, noPackage],
    ['image', makeImage, noPackage],
  ] as const;
  it.for(makers)(
    'have the same bytes when they are made again: the %s',
    async ([, make, missing], { skip }) => {
      skip(missing !== undefined, missing);
      const small = folder.file('small');
      writeFileSync(small, '#!/bin/sh\n');
      const sums = [];
      for (const mask of [0o022, 0o077]) {
        const before = process.umask(mask);
        const made = inFolder(`again-${mask}`, small);
        await make(made);
        process.umask(before);
        const [name = ''] = readdirSync(made.output);
        sums.push(
          createHash('sha256')
            .update(readFileSync(`${made.output}/${name}`))
            .digest('hex'),
        );
        rmSync(made.output, { recursive: true });
      }
      expect(sums[1]).toBe(sums[0]);
    },
  );

  it('contain a program that runs as it is', async () => {
    const { output, ...made } = inFolder('archive', executable);
    await makeArchive({ output, ...made });
    shown('tar', '-xzf', `${output}/parley-1.2.3-linux-x64.tar.gz`, '-C', output);
    expect(shown(`${output}/parley-1.2.3-linux-x64/parley`, '--version')).toMatch(/^commit /m);
    expect(readdirSync(`${output}/parley-1.2.3-linux-x64`)).toContain('LICENSE');
    rmSync(output, { recursive: true });
  });
});

describe.skipIf((noPackage ?? noSystemd) !== undefined)(
  `the Debian package${why(noPackage ?? noSystemd)}`,
  () => {
    let systemd: Systemd;
    beforeAll(async () => {
      const { output, ...made } = inFolder('debian', executable);
      await makeDebianPackage({ output, ...made });
      systemd = await bootSystemd();
      systemd.put(`${output}/parley_1.2.3_amd64.deb`, '/root/parley.deb');
      rmSync(output, { recursive: true });
    }, buildMsMax);
    afterAll(() => systemd?.stop());

    const property = (name: string) =>
      systemd.run('systemctl', 'show', 'parley', `--property=${name}`, '--value').trim();
    const isReady = () => systemd.try('parley health --ready --data-dir /var/lib/parley').code === 0;

    it('describes itself', () => {
      const facts = systemd.run('dpkg-deb', '--info', '/root/parley.deb');
      for (const fact of ['Version: 1.2.3', 'Architecture: amd64', 'libc6 (>= 2.28)'])
        expect(facts).toContain(fact);
      const files = systemd.run('dpkg-deb', '--contents', '/root/parley.deb').trim().split('\n');
      expect(files.filter((line) => !line.includes(' root/root '))).toEqual([]);
      expect(files.map((line) => line.split(' ').at(-1))).toContain('./usr/lib/systemd/system/parley.socket');
    });

    it('is installed, and systemd runs the server with all of its restrictions', () => {
      systemd.run('dpkg', '--install', '/root/parley.deb');
      expect([property('ActiveState'), property('SubState')]).toEqual(['active', 'running']);
      expect(isReady()).toBe(true);
      const status = systemd.run('cat', `/proc/${property('MainPID')}/status`);
      expect(status).toMatch(/^CapBnd:\t0+$/m);
      expect(status).toMatch(/^NoNewPrivs:\t1$/m);
      expect(status).toMatch(/^Seccomp:\t2$/m);
      expect(status).not.toMatch(/^Uid:\t0\t/m);
      expect(systemd.run('systemctl', 'is-enabled', 'parley').trim()).toBe('enabled');
    });

    it('serves speech and chat there, also after a reload', async () => {
      const make = (...args: string[]) =>
        systemd.run('parley', ...args, '--data-dir', '/var/lib/parley').trim();
      const admin = make('key', 'create', '--admin', '--name', 'root');
      const asAdmin = (...args: string[]) =>
        systemd
          .run('env', `PARLEY_ADMIN_KEY=${admin}`, 'parley', ...args, '--data-dir', '/var/lib/parley')
          .trim();
      asAdmin('account', 'create', 'acme');
      asAdmin('plan', 'start-trial', 'acme');
      asAdmin('credits', 'load', 'acme', '5', '--reason', 'test');
      const key = asAdmin(
        'key',
        'create',
        '--account',
        'acme',
        '--name',
        'app',
        '--scopes',
        'speech,transcription,chat',
      );
      systemd.run('systemctl', 'reload', 'parley');
      const asHolder = (command: string) =>
        systemd.run(
          'sh',
          '-c',
          `cd /tmp && PARLEY_API_KEY=${key} parley ${command} --base-url http://127.0.0.1:8080/api/v1`,
        );
      asHolder('speak "Good morning." --format wav -o /tmp/said.wav');
      expect(asHolder('transcribe /tmp/said.wav')).toMatch(/good morning/i);
      expect(asHolder('chat "Hello there."')).toMatch(/\w/);
    });

    it('starts the server again when it is killed, and when it hangs', async () => {
      systemd.run('sh', '-c', 'mkdir -p /etc/systemd/system/parley.service.d');
      const short =
        'printf "[Service]\\nWatchdogSec=2\\nRestartSec=0\\n" > /etc/systemd/system/parley.service.d/test.conf';
      systemd.run('sh', '-c', `${short} && systemctl daemon-reload && systemctl restart parley`);
      for (const signal of ['KILL', 'STOP']) {
        const pid = property('MainPID');
        systemd.run('kill', `-${signal}`, pid);
        await until(() => property('MainPID') !== pid && isReady());
      }
      expect(systemd.try('journalctl --unit parley --output cat').output).toContain('Watchdog timeout');
      // A busy machine may keep the server from its two seconds in the tests that follow.
      systemd.run('sh', '-c', 'rm -r /etc/systemd/system/parley.service.d && systemctl daemon-reload');
    });

    it('holds the port while the server restarts, if its socket is used', () => {
      systemd.run(
        'sh',
        '-c',
        'systemctl stop parley && systemctl enable --now parley.socket && systemctl start parley',
      );
      const calls =
        'for at in $(seq 200); do curl -fsS http://127.0.0.1:8080/healthz > /dev/null || echo refused; done';
      const { output } = systemd.try(`(${calls}) & systemctl restart parley; wait`);
      expect(output).toBe('');
    });

    it('is upgraded with its settings and data, and removed but for the data', () => {
      systemd.run(
        'sh',
        '-c',
        'echo "# mine" >> /etc/parley/parley.yaml && systemctl disable --now parley.socket',
      );
      systemd.run('dpkg', '--install', '/root/parley.deb');
      expect(systemd.run('cat', '/etc/parley/parley.yaml')).toContain('# mine');
      expect(isReady()).toBe(true);
      systemd.run('dpkg', '--purge', 'parley');
      const left = systemd.try('ls /usr/bin/parley /etc/parley /usr/lib/systemd/system/parley.service 2>&-');
      expect(left.output).toBe('');
      expect(systemd.run('ls', '/var/lib/private/parley')).toContain('parley.db');
      expect(systemd.try('systemctl is-active parley').output.trim()).toBe('inactive');
    });
  },
);

describe.skipIf(noPodman !== undefined)(`the image${why(noPodman)}`, () => {
  let podman: Podman;
  beforeAll(async () => {
    const { output, ...made } = inFolder('image', executable);
    await makeImage({ output, ...made });
    podman = podmanIn(folder.path);
    podman.run('load', '--input', `${output}/parley-1.2.3-image-amd64.tar`);
    rmSync(output, { recursive: true });
    const limits = ['--read-only', '--tmpfs=/tmp', '--cap-drop=all', '--security-opt=no-new-privileges'];
    podman.run(
      'run',
      '--detach',
      '--name=parley',
      '--network=none',
      ...limits,
      'localhost/parley:1.2.3',
      'serve',
      '--demo',
    );
  }, buildMsMax);
  afterAll(() => {
    podman.run('rm', '--force', '--volumes', 'parley');
    podman.run('rmi', '--all', '--force');
  });

  it('runs as a user without rights, on a root that cannot be written, and its health check passes', async () => {
    await until(() => podman.run('logs', 'parley').includes('Parley is ready'));
    expect(podman.run('healthcheck', 'run', 'parley')).toBe('');
    const format = '{{.Config.User}} {{.HostConfig.ReadonlyRootfs}} {{.Config.Healthcheck}}';
    expect(podman.run('inspect', 'parley', '--format', format)).toMatch(/^10001:10001 true .*parley health/);
    expect(() => podman.run('exec', 'parley', 'parley', 'speak', 'Hello.', '-o', '/usr/x.wav')).toThrow(
      /read-only/i,
    );
  });

  it('speaks, and stops within its time', () => {
    podman.run(
      'exec',
      'parley',
      'parley',
      'speak',
      'Good morning.',
      '--format',
      'wav',
      '-o',
      '/tmp/said.wav',
    );
    expect(podman.run('exec', 'parley', 'parley', 'transcribe', '/tmp/said.wav')).toMatch(/good morning/i);
    podman.run('stop', '--time=60', 'parley');
    expect(podman.run('inspect', 'parley', '--format', '{{.State.ExitCode}}')).toBe('0');
  });
});
