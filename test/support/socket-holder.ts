/** A listening socket that outlives its servers, like a socket unit of systemd. Each server inherits it, one after the other. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { type RunOptions, shellCommand } from './command-line.ts';

/** Starts "$@" again whenever it ends, until the file $DONE exists. The socket is always descriptor 3. */
const script = `
while [ ! -e "$DONE" ]; do sh -c 'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@"' sh "$@"; done
`;

export interface SocketHolder {
  readonly port: number;
  readonly process: ChildProcess;
}

/** @param done the path of a file; once it exists, no further server starts */
export async function holdSocket(
  args: readonly string[],
  done: string,
  options: RunOptions = {},
): Promise<SocketHolder> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const fd: unknown = Reflect.get(Reflect.get(server, '_handle'), 'fd');
  if (address === null || typeof address === 'string' || typeof fd !== 'number') throw new Error('no socket');
  const { file, args: words, env, cwd } = shellCommand(script, args, options);
  const holder = spawn(file, words, {
    cwd,
    env: { ...env, DONE: done },
    stdio: ['ignore', 'pipe', 'pipe', fd],
  });
  // The socket stays open in the shell and its children.
  await new Promise((resolve) => server.close(resolve));
  return { port: address.port, process: holder };
}
