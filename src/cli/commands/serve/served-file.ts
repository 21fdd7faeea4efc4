/** The configuration file of a running server, and what commands are told of it. */
import { resolve } from 'node:path';
import type { App } from '../../../app/create-app.ts';
import { updateFirstRun } from '../../../app/first-run.ts';
import type { createLog } from '../../../app/log.ts';
import type { Config } from '../../../config/config.ts';
import { localUrl, writeServerFile } from '../../client/server-file.ts';
import { loadWithFlags } from '../../configuration.ts';
import type { ServeFlags } from '../../flags.ts';
import { namedUrl } from './server-certificate.ts';
import type { ServiceManager } from './service-manager.ts';

interface Reloaded {
  readonly flags: ServeFlags;
  readonly config: Config;
  readonly file: string | undefined;
  readonly app: App;
  readonly log: ReturnType<typeof createLog>;
  readonly manager: ServiceManager;
}

/** Reloads one after the other, and tells commands of each in the data folder. */
export function servedFile({ flags, config, file, app, log, manager }: Reloaded) {
  let read = file;
  let last: Promise<unknown> = Promise.resolve();
  let count = 0;
  let isStopping = false;
  const write = (problem?: string) => {
    const baseUrl = callable(config, app.baseUrl);
    const adminBaseUrl = callable(config, app.adminBaseUrl);
    const reloads = { count, ...(problem && { problem }) };
    const served = { baseUrl, adminBaseUrl, pid: process.pid, ...(read && { file: resolve(read) }), reloads };
    writeServerFile(config.dataDir, served);
    updateFirstRun(config.dataDir, baseUrl);
  };
  const reloadNow = async () => {
    const { problem, ...reloaded } = await reloadConfiguration(flags, app, log, manager);
    // A file may be written after the start.
    read = reloaded.file ?? read;
    count++;
    if (isStopping) return problem;
    try {
      write(problem);
    } catch (err) {
      log.error({ err }, 'the result of a reload could not be written to the data folder');
    }
    return problem;
  };
  return {
    write,
    /** @returns why the configuration could not be used */
    reload(): Promise<string | undefined> {
      const outcome = last.then(reloadNow);
      last = outcome;
      return outcome;
    },
    stop(): void {
      isStopping = true;
    },
  };
}

/** The URL for clients on this machine. */
export function callable({ tls }: Config, url: string): string {
  return tls ? namedUrl(localUrl(url), tls.cert) : localUrl(url);
}

/**
 * Reads the configuration again, with the same flags. An invalid one changes nothing.
 * @returns the file that it has read, or why it changed nothing
 */
async function reloadConfiguration(
  flags: ServeFlags,
  app: App,
  log: ReturnType<typeof createLog>,
  manager: ServiceManager,
): Promise<{ readonly file?: string | undefined; readonly problem?: string }> {
  manager.reloading();
  try {
    const { config, file } = loadWithFlags(flags);
    await app.reload(config);
    log.level = config.log.level;
    log.info({ models: config.models.map(({ id }) => id) }, 'configuration reloaded');
    for (const { model, reason } of app.unavailable()) log.warn({ model, reason }, 'model is not available');
    return { file };
  } catch (error) {
    log.error({ err: error }, 'configuration not reloaded; the server continues with the previous one');
    return { problem: error instanceof Error ? error.message : String(error) };
  } finally {
    manager.ready();
  }
}
