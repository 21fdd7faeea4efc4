import { spawnSync } from 'node:child_process';
import type { Command } from 'commander';
import type { App } from '../../app/create-app.ts';
import { createDemo, firstRunPath, readFirstRun } from '../../app/demo.ts';
import { createLog } from '../../app/log.ts';
import type { Config } from '../../config/config.ts';
import type { Log } from '../../core/ports/log.ts';
import { localUrl, removeServerFile, writeServerFile } from '../client/server-file.ts';
import { newCommand } from '../terminal/command.ts';
import { type BannerFacts, demoBanner } from '../terminal/demo-banner.ts';
import { printData } from '../terminal/terminal.ts';
import { addressError } from './address-error.ts';
import { loadWithFlags, type ServeConfigFlags, withConfigFlags } from './config-flags.ts';
import { worded } from './data-folder.ts';
import { type ServiceManager, serviceManager } from './service-manager.ts';

interface ServeFlags extends ServeConfigFlags {
  readonly demo?: boolean;
}

export function serveCommand(): Command {
  return withConfigFlags(
    newCommand('serve', 'Start the server.', [
      'parley serve --demo   # with an account and keys to try it',
      'parley serve --host 0.0.0.0 --port 80 --data-dir /var/lib/parley',
    ]),
  )
    .option('--host <address>', 'the address to listen on (default: 127.0.0.1)')
    .option('--port <number>', 'the port to listen on, 0 for any free one (default: 8080)')
    .option('--log-level <level>', 'trace, debug, info, warn, error, fatal or silent (default: info)')
    .option('--demo', 'where the store is empty, make an account with a trial, credits and keys')
    .action(serve);
}

async function serve(flags: ServeFlags): Promise<void> {
  const stopped = stopSignal();
  const { config } = loadWithFlags(flags);
  const log = createLog(config.log.level);
  const opening = open(config, log);
  const opened = await Promise.race([opening, stopped.then(() => undefined)]);
  // Told to stop before there is anything to serve: what is half open is closed as soon as it is open.
  if (opened === undefined) return (await opening).close();
  const baseUrl = localUrl(opened.baseUrl);
  const manager = serviceManager(process.env, log);
  let reloaded = Promise.resolve();
  const reload = () => {
    reloaded = reloaded.then(() => takeConfiguration(flags, opened, log, manager));
  };
  process.on('SIGHUP', reload);
  try {
    const adminBaseUrl = localUrl(opened.adminBaseUrl);
    writeServerFile(config.dataDir, { baseUrl, adminBaseUrl, pid: process.pid });
    for (const { model, reason } of opened.unavailable())
      log.warn({ model, reason }, 'model is not available');
    if (flags.demo) await showDemo(opened, config, baseUrl);
    log.info({ baseUrl: opened.baseUrl }, `listening on ${opened.baseUrl}`);
    manager.ready();
    log.info({ signal: await stopped }, 'stopping: requests in flight finish first');
    manager.stopping();
  } finally {
    // Without a listener the signal would end the process, and cut what is to finish.
    process.off('SIGHUP', reload).on('SIGHUP', () => undefined);
    removeServerFile(config.dataDir);
    await opened.close();
    manager.close();
  }
}

/** At SIGHUP the configuration is read again, with the same flags. What is wrong with it leaves all as it is. */
async function takeConfiguration(
  flags: ServeFlags,
  app: App,
  log: ReturnType<typeof createLog>,
  manager: ServiceManager,
): Promise<void> {
  manager.reloading();
  try {
    const { config } = loadWithFlags(flags);
    app.reload(config);
    log.level = config.log.level;
    log.info({ models: config.models.map(({ id }) => id) }, 'took over the new configuration');
    for (const { model, reason } of app.unavailable()) log.warn({ model, reason }, 'model is not available');
  } catch (error) {
    log.error(
      { err: error },
      'the new configuration was not taken over; the server goes on with the one it has',
    );
  }
  manager.ready();
}

/** The app takes longest to load: it is not loaded for a configuration that cannot be used, nor for other commands. */
async function open(config: Config, log: Log): Promise<App> {
  try {
    const { createApp } = await import('../../app/create-app.ts');
    return await createApp(config, { log });
  } catch (error) {
    throw addressError(error, config) ?? worded(error, config.dataDir);
  }
}

async function showDemo(app: App, config: Config, baseUrl: string): Promise<void> {
  const { dataDir } = config;
  const file = firstRunPath(dataDir);
  const firstRun = await createDemo(app, { dataDir, baseUrl });
  if (firstRun) {
    const models = firstModels(config, app);
    return printData(demoBanner(firstRun, { dataDir, file, hasCurl: hasCurl(), models }));
  }
  const why = readFirstRun(dataDir)
    ? `The keys of the first start are in ${file}.`
    : `${dataDir} has accounts or keys already, so no demo was added.`;
  await printData(`\n  Parley is ready at ${baseUrl}\n  ${why}\n\n`);
}

/** The first model of each type that works on this machine. */
function firstModels({ models }: Config, app: App): BannerFacts['models'] {
  const unavailable = app.unavailable();
  const usable = models.filter(({ id }) => !unavailable.some(({ model }) => model === id));
  return Object.fromEntries(usable.toReversed().map(({ type, id }) => [type, id]));
}

function hasCurl(): boolean {
  return spawnSync('curl', ['--version'], { stdio: 'ignore' }).error === undefined;
}

/** A signal that comes again so soon is the same one: under npm, Ctrl-C arrives from the terminal and from npm. */
const sameSignalMs = 1_000;

/** Resolves at the first SIGTERM or Ctrl-C. A second one ends the process at once. */
function stopSignal(): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  const stop = (name: NodeJS.Signals) => {
    setTimeout(() => process.off('SIGTERM', stop).off('SIGINT', stop), sameSignalMs).unref();
    resolve(name);
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
  return promise;
}
