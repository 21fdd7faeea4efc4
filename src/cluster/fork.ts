import cluster from 'node:cluster';
import { type Channel, ipcChannel } from './channel.ts';
import { workerArgument } from './worker-argument.ts';

export interface Fork {
  /** No other fork of this process has had it. */
  readonly id: number;
  readonly pid: number | undefined;
  readonly channel: Channel;
  /** Ends it at once. */
  kill(): void;
  /** Resolves when it has ended and all that it had sent has arrived. */
  readonly gone: Promise<string>;
}

/** Starts this program once more, as a worker that shares the ports on which it listens with the others. */
export function forkWorker(): Fork {
  const [, program = ''] = process.argv;
  // What is sent has numbers of any size and bytes.
  cluster.setupPrimary({ exec: program, args: [workerArgument], serialization: 'advanced' });
  const { id, process: child } = cluster.fork();
  const gone = new Promise<string>((resolve) => {
    const disconnected = new Promise<void>((told) => child.once('disconnect', () => told()));
    child.once('exit', (code, signal) => {
      void disconnected.then(() => resolve(signal === null ? `code ${code}` : String(signal)));
    });
    child.on('error', (error) => {
      if (child.pid === undefined) resolve(error.message);
    });
  });
  return { id, pid: child.pid, channel: ipcChannel(child), kill: () => child.kill('SIGKILL'), gone };
}
