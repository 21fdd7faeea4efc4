/**
 * Notifies systemd that the server is ready, alive or stopping. Node cannot send to systemd's socket, so the program
 * `systemd-notify` does. Without systemd nothing happens.
 */
import { execFile } from 'node:child_process';
import type { Log } from '../../../core/values/log.ts';

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
