/**
 * What systemd hears of a server that it has started: when it is ready, that it still runs, and when it stops. Node cannot send to the
 * socket that systemd listens on, so its own program `systemd-notify` does. Elsewhere there is nobody to tell, and nothing is done.
 */
import { execFile } from 'node:child_process';
import type { Log } from '../../core/ports/log.ts';

export interface ServiceManager {
  /** The configuration is being read again; `ready` ends it. */
  reloading(): void;
  /** The server takes requests. From now on a sign of life is sent in time, as long as this process gets to anything at all. */
  ready(): void;
  /** The server takes no more requests, and ends when those that run have ended. Its signs of life go on until `close`. */
  stopping(): void;
  close(): void;
}

/** A sign of life is sent twice within the time after which systemd misses it. */
const signsPerTimeout = 2;

/** @param env NOTIFY_SOCKET and WATCHDOG_USEC, as systemd sets them */
export function serviceManager(env: NodeJS.ProcessEnv, log: Log): ServiceManager {
  if (!env['NOTIFY_SOCKET']) return { reloading() {}, ready() {}, stopping() {}, close() {} };
  const watchdogMs = Number(env['WATCHDOG_USEC'] ?? 0) / 1000;
  let timer: NodeJS.Timeout | undefined;
  const tell = (...words: string[]) => {
    execFile('systemd-notify', words, { env }, (error) => {
      if (error) log.warn({ err: error, words }, 'systemd could not be told');
    });
  };
  return {
    reloading: () => tell('RELOADING=1'),
    ready() {
      tell('--ready', '--status=Serving.');
      if (watchdogMs > 0)
        timer ??= setInterval(() => tell('WATCHDOG=1'), watchdogMs / signsPerTimeout).unref();
    },
    stopping: () => tell('STOPPING=1', '--status=Running requests finish.'),
    close: () => clearInterval(timer),
  };
}
