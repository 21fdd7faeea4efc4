/**
 * Notifies systemd that the server is ready, alive or stopping. Node cannot send to systemd's socket, so the program
 * `systemd-notify` does. Without systemd nothing happens.
 */
import { execFile } from 'node:child_process';
import type { ListeningSockets } from '../../../app/listeners.ts';
import { present } from '../../../core/values/json.ts';
import type { Log } from '../../../core/values/log.ts';
import { CliError } from '../../terminal/command.ts';

export interface ServiceManager {
  /** The configuration is being reloaded, until `ready`. */
  reloading(): void;
  /** The server accepts requests. Starts the watchdog's heartbeat. */
  ready(): void;
  /** The server accepts no more requests and finishes the running ones. The heartbeat continues until `close`. */
  stopping(): void;
  close(): void;
}

/** systemd recommends two heartbeats within its timeout. */
const heartbeatsPerTimeout = 2;

/** @param env with NOTIFY_SOCKET and WATCHDOG_USEC from systemd */
export function serviceManager(env: NodeJS.ProcessEnv, log: Log): ServiceManager {
  if (!env['NOTIFY_SOCKET']) return { reloading() {}, ready() {}, stopping() {}, close() {} };
  const watchdogMs = Number(env['WATCHDOG_USEC'] ?? 0) / 1000;
  let timer: NodeJS.Timeout | undefined;
  const notify = (...words: string[]) => {
    execFile('systemd-notify', words, { env }, (error) => {
      if (error) log.warn({ err: error, words }, 'systemd could not be notified');
    });
  };
  return {
    reloading: () => notify('RELOADING=1'),
    ready() {
      notify('--ready', '--status=Serving.');
      if (watchdogMs > 0)
        timer ??= setInterval(() => notify('WATCHDOG=1'), watchdogMs / heartbeatsPerTimeout).unref();
    },
    stopping: () => notify('STOPPING=1', '--status=Running requests finish.'),
    close: () => clearInterval(timer),
  };
}

/** First file descriptor of the sockets from systemd. */
const firstFd = 3;
/** Name of the socket for administration (`FileDescriptorName=admin`). Any other is for clients. */
const adminName = 'admin';

/**
 * @param env with LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES from systemd
 * @throws CliError if there are sockets that the server would not serve
 */
export function passedSockets(env: NodeJS.ProcessEnv, hasAdminPort: boolean): ListeningSockets {
  // A child process inherits the variables, but the sockets are not meant for it.
  if (env['LISTEN_PID'] !== String(process.pid)) return {};
  const names = (env['LISTEN_FDNAMES'] ?? '').split(':');
  const fds = Array.from({ length: Number(env['LISTEN_FDS'] ?? 0) }, (_, index) => firstFd + index);
  const isAdmin = (fd: number) => names[fd - firstFd] === adminName;
  const [admins, mains] = [fds.filter(isAdmin), fds.filter((fd) => !isAdmin(fd))];
  if (mains.length > 1 || admins.length > 1) {
    throw new CliError(
      `systemd passes ${fds.length} sockets. Parley takes one, and one more with FileDescriptorName=${adminName}: remove the others from the socket unit.`,
    );
  }
  if (admins.length > 0 && !hasAdminPort) {
    throw new CliError(
      'systemd passes a socket for administration. Set admin.port, or remove that socket unit.',
    );
  }
  const [[main], [admin]] = [mains, admins];
  return present({ main, admin });
}
