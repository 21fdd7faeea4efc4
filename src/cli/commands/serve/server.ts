import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ConfigSource } from '../../../app/configuration-file.ts';
import type { App } from '../../../app/create-app.ts';
import { createDemo } from '../../../app/demo.ts';
import { firstRunPath, readFirstRun } from '../../../app/first-run.ts';
import { createLog } from '../../../app/log.ts';
import { PortError } from '../../../app/port-error.ts';
import type { Config } from '../../../config/config.ts';
import { defaultFile } from '../../../config/reader/config-file.ts';
import type { Log } from '../../../core/values/log.ts';
import { systemCode } from '../../../files/reason.ts';
import { dataFolderError } from '../../client/data-folder.ts';
import { removeServerFile } from '../../client/server-file.ts';
import { loadWithFlags, recogniserId } from '../../configuration.ts';
import type { ServeFlags } from '../../flags.ts';
import { CliError } from '../../terminal/command.ts';
import { printData } from '../../terminal/terminal.ts';
import { type BannerFacts, demoBanner, transcriptionReady } from './demo-banner.ts';
import { callable, servedFile } from './served-file.ts';
import { trustFor } from './server-certificate.ts';
import { passedSockets, serviceManager } from './service-manager.ts';

/** Runs the server until a signal ends it. @param onListening called once the server takes requests */
export async function serve(flags: ServeFlags, onListening: () => void): Promise<void> {
  await serveUntilStopped(flags, onListening);
  if (process.stdout.isTTY) await printData('\n  Parley has stopped. Goodbye.\n');
}

async function serveUntilStopped(flags: ServeFlags, onListening: () => void): Promise<void> {
  // Until the configuration is read, a signal ends the process, as the file may be a pipe that nobody closes.
  const { config, warnings, file } = loadWithFlags(flags);
  const stopped = stopSignal();
  const log = createLog(config.log.level);
  for (const warning of warnings) log.warn({}, warning);
  let apply: ConfigSource['apply'] = async () => 'The server is not open yet.';
  const opening = open(
    config,
    log,
    sourceOf(file, flags, () => apply()),
  );
  const opened = await Promise.race([opening, stopped.then(() => undefined)]);
  // Stopped while opening: close it once it is open.
  if (opened === undefined) return (await opening).close();
  const baseUrl = callable(config, opened.baseUrl);
  const manager = serviceManager(process.env, log);
  const served = servedFile({ flags, config, file, app: opened, log, manager });
  apply = () => served.reload();
  const reload = () => void apply();
  process.on('SIGHUP', reload);
  // The default models may have a recogniser that set-up replaces.
  const isNew = () => config.models.every(({ id }) => id !== recogniserId());
  if (file === undefined) onceSetUp(() => isNew() && opened.unavailable().length === 0, reload);
  try {
    served.write();
    const hasBanner = flags.demo && (await showDemo(opened, config, baseUrl));
    // The banner has the reasons, too.
    for (const { model, reason } of hasBanner ? [] : opened.unavailable())
      log.warn({ model, reason }, 'model is not available');
    if (config.adminKey === undefined && !(await opened.store.keys.hasAdmin(Date.now()))) {
      const command = `parley key create --admin --data-dir ${resolve(config.dataDir)}`;
      log.warn(
        {},
        `no admin key: nobody can manage all of this server. Create one on this machine, as its user: ${command}`,
      );
    }
    log.info({ baseUrl: opened.baseUrl }, `listening on ${opened.baseUrl}`);
    onListening();
    manager.ready();
    log.info({ signal: await stopped }, 'stopping: running requests finish first');
    manager.stopping();
  } finally {
    // Without a listener SIGHUP would end the process, and the running requests with it.
    process.off('SIGHUP', reload).on('SIGHUP', () => undefined);
    served.stop();
    removeServerFile(config.dataDir);
    await opened.close();
    manager.close();
  }
}

/** V8 keeps the space of the start, some 20 MB, until it collects, which an idle server never does by itself. */
const settleMs = 2_000;

/** Undefined for a pipe, which a server reads once: another reading would wait for a writer, and block all requests. */
function sourceOf(
  file: string | undefined,
  flags: ServeFlags,
  apply: ConfigSource['apply'],
): ConfigSource | undefined {
  if (file !== undefined && !statSync(file, { throwIfNoEntry: false })?.isFile()) return undefined;
  return {
    path: file ?? defaultFile,
    read: (text) => loadWithFlags(flags, text).config,
    apply,
    recogniser: recogniserId,
  };
}

/** Loads the app, which takes long, only for this command and a valid configuration. */
async function open(config: Config, log: Log, source: ConfigSource | undefined): Promise<App> {
  const sockets = passedSockets(process.env, config.admin !== undefined);
  try {
    const { createApp } = await import('../../../app/create-app.ts');
    return await createApp(config, { log, sockets, settleMs, source });
  } catch (error) {
    if (!(error instanceof PortError)) throw dataFolderError(error, config.dataDir);
    throw addressError(error, config) ?? error.cause;
  }
}

/** @returns whether it shows the banner of a first start */
async function showDemo(app: App, config: Config, baseUrl: string): Promise<boolean> {
  const { dataDir } = config;
  const file = firstRunPath(dataDir);
  const firstRun = await createDemo(app, { dataDir, baseUrl });
  // A service's standard output goes to a log, which must not contain keys.
  if (firstRun && process.stdout.isTTY) {
    const models = firstModels(config, app);
    const reasons = app.unavailable().map(({ reason }) => reason);
    const trust = config.tls ? trustFor(baseUrl, config.tls.cert) : {};
    const { hasConsole, hasDocs } = app;
    const pages = { hasConsole, hasDocs };
    const awaitsTranscription =
      models.speech !== undefined &&
      models.transcription === undefined &&
      config.models.some(({ type }) => type === 'transcription');
    const how = { dataDir, hasCurl: hasCurl(), trust };
    await printData(demoBanner(firstRun, { ...how, file, ...pages, models, reasons, awaitsTranscription }));
    if (awaitsTranscription) {
      const isDone = () => firstModels(config, app).transcription !== undefined;
      onceSetUp(isDone, () => process.stdout.write(transcriptionReady(firstRun, how)));
    }
    return true;
  }
  const why = readFirstRun(dataDir)
    ? `The keys of the first start are in ${file}.`
    : `${dataDir} already has accounts or keys, so no demo was added.`;
  await printData(`\n  Parley is ready at ${baseUrl}\n  ${why}\n\n`);
  return false;
}

const setUpPollMs = 1_000;

/** Set-up goes on beside the server. */
function onceSetUp(isDone: () => boolean, then: () => void): void {
  const timer = setInterval(() => {
    if (!isDone()) return;
    clearInterval(timer);
    then();
  }, setUpPollMs).unref();
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

/** Within this time a repeated signal counts as the same one: under npm, Ctrl-C arrives twice. */
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

/** Why the server cannot listen, with the setting to change. Undefined if the error is not about an address. */
function addressError(error: PortError, { server, admin = server }: Config): CliError | undefined {
  const { isAdmin, cause } = error;
  const { host, port } = isAdmin ? admin : server;
  const [options, variables] = isAdmin ? ['admin.', 'PARLEY_ADMIN_'] : ['--', 'PARLEY_'];
  const portSetting = `${options}port or ${variables}PORT`;
  const messages: Readonly<Record<string, string>> = {
    EADDRINUSE: `Port ${port} is in use: choose another with ${portSetting} (0 takes any free one).`,
    EADDRNOTAVAIL: `${host} is not an address of this machine: choose another with ${options}host or ${variables}HOST.`,
    EACCES: `Port ${port} is reserved for the administrator: choose one above 1023 with ${portSetting}.`,
  };
  const code = systemCode(cause) ?? '';
  const message = messages[/^(ENOTFOUND|EAI_AGAIN)$/.test(code) ? 'EADDRNOTAVAIL' : code];
  return message === undefined ? undefined : new CliError(message, cause);
}
