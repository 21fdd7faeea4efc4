/** The compose files in deploy/, with the image of a release, by podman-compose. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeImage } from '../../scripts/release/image.mjs';
import { missingPrograms } from '../support/audio-files.ts';
import { buildMsMax, builtExecutable } from '../support/built-executable.ts';
import { scratchFolder, until } from '../support/command-line.ts';
import { freePort } from '../support/http-server.ts';
import { noPodman, type Podman, podmanIn } from './release/podman.ts';

const missing = noPodman ?? missingPrograms('podman-compose', 'dpkg-deb');
if (missing !== undefined) process.stderr.write(`NOT TESTED: the compose files (${missing})\n`);

describe.skipIf(missing !== undefined)(
  `the compose files${missing === undefined ? '' : `: ${missing}`}`,
  () => {
    const folder = scratchFolder();
    const file = (name: string) => readFileSync(new URL(`../../deploy/${name}`, import.meta.url), 'utf8');
    let podman: Podman;
    let origin: string;
    let noNetwork: string | undefined;
    beforeAll(async () => {
      const executable = await builtExecutable();
      await makeImage({
        version: '1.2.3',
        epoch: '1764000000',
        output: folder.path,
        executable,
        arch: 'x64',
      });
      podman = podmanIn(folder.path);
      podman.run('load', '--input', folder.file('parley-1.2.3-image-amd64.tar'));
      podman.run('tag', 'localhost/parley:1.2.3', 'localhost/parley:latest');
      noNetwork = whyNoNetwork();
      const port = await freePort();
      origin = `http://127.0.0.1:${port}`;
      writeFileSync(
        folder.file('compose.yaml'),
        file('compose.yaml').replace('127.0.0.1:8080:8080', `127.0.0.1:${port}:8080`),
      );
      writeFileSync(folder.file('compose-cluster.yaml'), file('compose-cluster.yaml'));
    }, buildMsMax);
    afterAll(() => {
      try {
        compose('compose.yaml', 'down', '--volumes');
      } finally {
        try {
          podman.run('rmi', '--all', '--force');
        } finally {
          folder.remove();
        }
      }
    });

    /** The reason why a container cannot have a network here; undefined if it can. */
    function whyNoNetwork(): string | undefined {
      // Whether the image runs is no question of its network.
      podman.run('run', '--rm', '--network=none', 'localhost/parley', '--version');
      try {
        podman.run('run', '--rm', 'localhost/parley', '--version');
        return undefined;
      } catch (error) {
        process.stderr.write(`NOT TESTED: compose.yaml (${error})\n`);
        return String(error);
      }
    }

    /** @returns the output of a command that must succeed, among what podman-compose says itself */
    function compose(name: string, ...args: string[]): string {
      // The tests may not raise their own limits, and podman would if it got only those of the file.
      const limits = '--podman-run-args=--ulimit nproc=1000:1000';
      const all = ['-p', 'parley', limits, '-f', folder.file(name), ...args];
      const { status, stdout, stderr } = spawnSync('podman-compose', all, {
        env: podman.env,
        encoding: 'utf8',
        timeout: 180_000,
      });
      if (status !== 0) throw new Error(`podman-compose ${args.join(' ')} ended with ${status}: ${stderr}`);
      return stdout + stderr;
    }

    const inParley = (...args: string[]) =>
      compose('compose.yaml', 'exec', '-T', 'parley', 'parley', ...args);

    async function start(): Promise<void> {
      compose('compose.yaml', 'up', '--detach', '--no-build');
      await until(() =>
        fetch(`${origin}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      );
    }

    const post = (path: string, key: string, body: object) =>
      fetch(`${origin}/api/v1${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify(body),
      });

    const speak = async (key: string) => {
      const said = await post('/audio/speech', key, {
        model: 'flite',
        input: 'Good morning.',
        voice: 'slt',
        response_format: 'wav',
      });
      return [said.status, Buffer.from(await said.arrayBuffer()).toString('latin1', 0, 4)];
    };

    it('start a server that speaks, is backed up, and keeps its data over a stop', async ({ skip }) => {
      skip(noNetwork !== undefined, noNetwork);
      await start();
      expect(inParley('health')).toMatch(/^ok$/m);
      const [admin = ''] = /^pa_\w+$/m.exec(inParley('key', 'create', '--admin', '--name', 'root')) ?? [];
      await post('/admin/accounts', admin, { name: 'acme' });
      const endsAt = new Date(Date.now() + 86_400_000).toISOString();
      await post('/admin/accounts/acme/plan', admin, { ends_at: endsAt });
      const credits = { amount: '5', reason: 'test', idempotency_key: 'test' };
      await post('/admin/accounts/acme/credits', admin, credits);
      const made = await post('/admin/accounts/acme/keys', admin, { name: 'app', scopes: ['speech'] });
      const { secret } = (await made.json()) as { secret: string };
      expect(await speak(secret)).toEqual([200, 'RIFF']);
      expect(inParley('backup', '/var/lib/parley/backup.db', '--force')).toContain('verified');
      compose('compose.yaml', 'down');
      await start();
      expect(await speak(secret)).toEqual([200, 'RIFF']);
    });

    it('run the server on a root that cannot be written, within its memory', ({ skip }) => {
      skip(noNetwork !== undefined, noNetwork);
      const format =
        '{{.Config.User}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.Memory}} {{.HostConfig.CapDrop}}';
      const [user, isReadOnly, memory, ...dropped] = podman
        .run('inspect', 'parley_parley_1', '--format', format)
        .split(' ');
      expect([user, isReadOnly, memory]).toEqual(['10001:10001', 'true', String(2 ** 30)]);
      expect(dropped.join(' ')).toContain('CAP_');
    });

    it('resolve to a database, a migration and three servers, which do not run as no registry has the image of PostgreSQL here', () => {
      for (const name of ['store.url', 'database.password']) writeFileSync(folder.file(name), '');
      const commands = compose('compose-cluster.yaml', '--dry-run', 'up', '--detach', '--no-build');
      const names = [...commands.matchAll(/^podman run .*--name=parley_(\S+)/gm)].map(([, name]) => name);
      expect(names).toEqual(['database_1', 'migrate_1', 'parley_1', 'parley_2', 'parley_3']);
    });
  },
);
