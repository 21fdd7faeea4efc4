/** PgBouncer before the PostgreSQL of the tests. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../http-server.ts';
import { withClient } from './client.ts';

/** Why tests with PgBouncer do not run; undefined if they do. */
export const missingPgbouncer =
  spawnSync('pgbouncer', ['--version']).error === undefined
    ? undefined
    : ' (PgBouncer is not installed, Debian package pgbouncer)';

interface Pooler {
  readonly url: string;
  close(): Promise<void>;
}

/** @param url of the database */
export async function startPgbouncer(url: string, mode: 'session' | 'transaction'): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-pgbouncer-'));
  const port = await freePort();
  // The folder of the socket cannot be the host of a URL.
  const { username, hostname, pathname, searchParams } = new URL(url.replace('@/', '@none/'));
  const host = searchParams.get('host') ?? hostname;
  const settings = [
    '[databases]',
    // With `any`, everybody is this user.
    `* = host=${host} user=${username}`,
    '[pgbouncer]',
    `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =`,
    `auth_type = any\npool_mode = ${mode}\nignore_startup_parameters = extra_float_digits`,
  ];
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(file, settings.join('\n'));
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? ['--user', 'nobody'] : [];
  if (isRoot) {
    chmodSync(folder, 0o755);
    chownSync(file, 65534, 65534);
  }
  const child = spawn('pgbouncer', [...user, file], { stdio: 'ignore' });
  const own = `postgres://${username}@127.0.0.1:${port}${pathname}`;
  await withClient(own, (client) => client.query('select 1'));
  return {
    url: own,
    async close() {
      child.kill('SIGINT');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
