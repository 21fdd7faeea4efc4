/**
 * Starts a PostgreSQL of its own for a run of tests, in a temporary folder: no service of the system. PARLEY_TEST_POSTGRES_URL names
 * another one to use, as a user who may create databases.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { postgresPrograms } from './programs.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Empty if there is no PostgreSQL. */
    postgresUrl: string;
  }
}

/** PostgreSQL refuses to run as root. */
const userInstead = 'nobody';

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env['PARLEY_TEST_POSTGRES_URL'];
  const programs = postgresPrograms();
  if (given || programs === undefined) {
    project.provide('postgresUrl', given ?? '');
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), 'parley-postgres-'));
  const cluster = start(programs, folder);
  project.provide('postgresUrl', `postgres://parley@/postgres?host=${encodeURIComponent(folder)}`);
  return async () => {
    const server = await cluster;
    server.kill('SIGINT');
    if (server.exitCode === null) await once(server, 'exit');
    rmSync(folder, { recursive: true, force: true });
  };
}

/** Does not wait until it accepts connections. */
async function start(programs: string, folder: string): Promise<ReturnType<typeof spawn>> {
  const data = join(folder, 'data');
  mkdirSync(data, { mode: 0o700 });
  const asOther = otherUser(folder, data);
  const run = (command: readonly string[]) => {
    const [program = '', ...args] = [...asOther, ...command];
    // Where a person interrupts the tests, the set-up stops the server.
    return spawn(program, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'], detached: true });
  };
  const initdb = ['-D', data, '-U', 'parley', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'];
  const [code] = await once(run([join(programs, 'initdb'), ...initdb]), 'exit');
  if (code !== 0) throw new Error(`initdb ended with ${code}`);
  const settings = { listen_addresses: '', unix_socket_directories: folder, max_connections: '300' };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return run([join(programs, 'postgres'), '-D', data, ...options, '-c', 'log_min_messages=fatal']);
}

/** The beginning of commands that run as another user than root. The server ends with the tests, however they end. */
function otherUser(...folders: readonly string[]): string[] {
  const withParent = ['setpriv', '--pdeathsig', 'INT'];
  if (process.getuid?.() !== 0) return withParent;
  const [uid = 0, gid = 0] = ['-u', '-g'].map((flag) =>
    Number(spawnSync('id', [flag, userInstead], { encoding: 'utf8' }).stdout),
  );
  for (const folder of folders) {
    chownSync(folder, uid, gid);
    chmodSync(folder, 0o700);
  }
  return [...withParent, `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--'];
}
