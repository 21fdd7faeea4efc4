/**
 * The way of the admin commands to the store. One process writes it: where a server has the data folder the command is
 * a client of that server, and where nobody has it the command takes the folder for itself.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { create, type MessageInitShape, type MessageShape } from '@bufbuild/protobuf';
import type { AdminApp } from '../../app/administration.ts';
import { cliCall } from '../../core/call.ts';
import { ParleyError } from '../../core/errors.ts';
import { type AdminInput, type AdminMethod, type AdminOutput, adminMethods } from '../../core/services.ts';
import { configOf } from '../commands/config-flags.ts';
import { folderIsMissing, worded } from '../commands/data-folder.ts';
import { type AdminFlags, adminServer } from '../commands/server-flags.ts';
import { CliError } from '../terminal/cli-error.ts';
import type { Server } from './http-client.ts';
import { callRest } from './rest-call.ts';
import { readServerFile } from './server-file.ts';

export type AdminRequest<K extends AdminMethod> = MessageInitShape<AdminInput<K>>;
export type AdminResponse<K extends AdminMethod> = MessageShape<AdminOutput<K>>;

export interface AdminConnection {
  /** @throws CliError with what the rules or the server refuse */
  invoke<K extends AdminMethod>(method: K, request: AdminRequest<K>): Promise<AdminResponse<K>>;
  close(): Promise<void>;
}

export interface AdminConnectionOptions {
  /** Whether a data folder that is missing is made; a command that only looks is in the wrong place then. */
  readonly mayMakeFolder?: boolean;
}

/** How long a folder may be held by a process that does not say where it listens: a server that starts, another command. */
const waitMsMax = 5_000;
const retryMs = 50;

export async function connectAdmin(
  flags: AdminFlags,
  { mayMakeFolder = false }: AdminConnectionOptions = {},
): Promise<AdminConnection> {
  if (flags.baseUrl !== undefined) return overHttp(adminServer(flags.baseUrl, flags));
  const config = configOf(flags);
  const { dataDir } = config;
  if (!mayMakeFolder && folderIsMissing(dataDir)) {
    throw new CliError(
      `There is no data folder ${dataDir} yet. Name the right one with --data-dir, or a server with --base-url.`,
    );
  }
  const { openAdmin, DataInUseError } = await import('../../app/administration.ts');
  for (let waitedMs = 0; ; waitedMs += retryMs) {
    try {
      return onFolder(await openAdmin(config));
    } catch (error) {
      if (!(error instanceof DataInUseError)) throw worded(error, dataDir);
      const server = readServerFile(dataDir);
      if (server !== undefined) return overHttp(adminServer(server.adminBaseUrl, flags));
      if (waitedMs >= waitMsMax) {
        const message = `Another process has the data folder ${dataDir} and does not say where it listens. Name the server with --base-url.`;
        throw new CliError(message, error);
      }
    }
    await sleep(retryMs);
  }
}

function onFolder(app: AdminApp): AdminConnection {
  return {
    invoke: <K extends AdminMethod>(method: K, init: AdminRequest<K>): Promise<AdminResponse<K>> =>
      saidPlainly(() => app.admin[method](create(adminMethods[method].input, init), cliCall)),
    close: () => app.close(),
  };
}

async function saidPlainly<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw error instanceof ParleyError ? new CliError(`${error.message} (${error.code})`, error) : error;
  }
}

function overHttp(server: Server): AdminConnection {
  return {
    invoke: <K extends AdminMethod>(method: K, init: AdminRequest<K>): Promise<AdminResponse<K>> =>
      callRest(server, adminMethods[method], create(adminMethods[method].input, init)),
    close: async () => undefined,
  };
}
