import cluster, { type Worker } from 'node:cluster';
import { type Channel, ipcChannel } from './channel.ts';
import { workerArgument } from './worker-argument.ts';

export interface Fork {
  /** No other fork of this process has had it, but those that could not start. */
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
  const forked = attempt();
  if (forked instanceof Error) return stillborn(forked);
  const { id, process: child } = forked;
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

/** Node throws some of the reasons for which the system starts no process, and tells others as an event. */
function attempt(): Worker | Error {
  try {
    return cluster.fork();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** The ids of others begin with 1. */
function stillborn({ message }: Error): Fork {
  const channel: Channel = { send: () => undefined, onMessage: () => undefined };
  return { id: 0, pid: undefined, channel, kill: () => undefined, gone: Promise.resolve(message) };
}
