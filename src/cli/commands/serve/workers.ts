/**
 * `serve --workers N`: processes that share the port, started by a parent that serves nothing itself. Each is a node of
 * the database.
 */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import type { Config } from '../../../config/config.ts';
import type { Log } from '../../../core/values/log.ts';
import { CliError } from '../../terminal/command.ts';

/** Delay before a process that has ended is replaced. */
const restartMs = 1_000;

/** The addresses of a server, as a worker reports them. */
export interface Addresses {
  readonly baseUrl: string;
  readonly adminBaseUrl: string;
}

/** Whether this process is one of the workers. */
export const isWorker = cluster.isWorker;

/** @throws CliError if several processes cannot serve this configuration */
export function checkWorkers({ store }: Config, { demo }: { readonly demo?: boolean | undefined }): void {
  if (store.kind === 'sqlite') {
    throw new CliError(
      '--workers needs a PostgreSQL database (store.kind: postgres): only one process can own an SQLite database.',
    );
  }
  if (demo)
    throw new CliError(
      '--demo and --workers cannot be combined. Start once with --demo, then with --workers.',
    );
  if (process.env['LISTEN_PID'] === String(process.pid)) {
    throw new CliError(
      '--workers cannot serve sockets that systemd passes. Remove the socket unit, or --workers.',
    );
  }
}

/** Reports to the parent that this worker accepts requests. */
export function announce(addresses: Addresses): void {
  process.send?.(addresses);
}

/** Lets this worker end, at any stage: its channel to the parent would keep it alive. */
export function leave(): void {
  process.channel?.unref();
}

interface WorkersDeps {
  readonly log: Log;
  /** Called once, when every worker accepts requests. */
  readonly onReady: (addresses: Addresses) => void;
  /** Resolves when all must end. */
  readonly stopped: Promise<NodeJS.Signals>;
}

/**
 * Starts workers and replaces those that end, until `stopped`; then waits for their requests.
 * @throws CliError if one ends before all have started
 */
export async function superviseWorkers(count: number, { log, onReady, stopped }: WorkersDeps): Promise<void> {
  // A single executable has no script before the arguments.
  const [, script, ...args] = process.argv;
  if (script === process.execPath) cluster.setupPrimary({ exec: args[0] ?? '', args: args.slice(1) });
  const running = new Set<Worker>();
  let isStopping = false;
  const start = () => {
    const worker = cluster.fork();
    running.add(worker);
    worker.once('exit', (code, signal) => {
      running.delete(worker);
      if (isStopping) return;
      log.error({ pid: worker.process.pid, code, signal }, 'a worker has ended; starting another');
      setTimeout(() => isStopping || start(), restartMs).unref();
    });
    return worker;
  };
  const stop = async (signal: NodeJS.Signals) => {
    isStopping = true;
    const ended = [...running].map((worker) => once(worker, 'exit'));
    for (const worker of running) worker.process.kill(signal);
    await Promise.all(ended);
  };
  const reload = () => {
    for (const worker of running) worker.process.kill('SIGHUP');
  };
  process.on('SIGHUP', reload);
  try {
    const started = Promise.all(Array.from({ length: count }, () => firstMessage(start())));
    const first = await Promise.race([started, stopped]);
    if (Array.isArray(first) && first[0]) onReady(first[0]);
    await stopped;
  } finally {
    await stop('SIGTERM');
    process.off('SIGHUP', reload);
  }
}

/** @throws CliError if the worker ends first, after reporting why */
async function firstMessage(worker: Worker): Promise<Addresses> {
  const ended = once(worker, 'exit').then(() => {
    throw new CliError('A worker could not start.');
  });
  const [addresses] = await Promise.race([once(worker, 'message'), ended]);
  ended.catch(() => undefined);
  return addresses as Addresses;
}
