/**
 * Connects admin commands to the store, which one process owns. A command calls the server that uses the data folder,
 * or opens the folder itself if no server does. The owner of the folder can always create an admin key.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import type { AdminApp } from '../../app/administration.ts';
import { cliCall } from '../../core/access/call.ts';
import { type AdminMethod, adminMethods } from '../../core/services.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { configOf } from '../configuration.ts';
import type { AdminFlags } from '../flags.ts';
import { CliError } from '../terminal/command.ts';
import type { AdminConnection, AdminRequest, AdminResponse } from './admin-server.ts';
import { dataFolderError, folderIsMissing } from './data-folder.ts';
import { withAdvice } from './failed-call.ts';
import { readServerFile } from './server-file.ts';

export { responseBodyCodec } from '../../codec/http-rule.ts';
export { adminMethods } from '../../core/services.ts';

export interface AdminConnectionOptions {
  /** Whether to create a missing data folder. Default: false, as a command that only reads could create it in the wrong place. */
  readonly mayMakeFolder?: boolean;
  /**
   * Whether to write the database beside the running server, unless an admin key is given. Only for keys, which the
   * server sees at once; it keeps other data in memory. Default: false
   */
  readonly mayBeGuest?: boolean;
  /** Whether to use the data folder as a guest alone, with or without a server: it changes no schema. Default: false */
  readonly isGuest?: boolean;
}

/** A starting server, or another command, may own the folder for a moment without an address to call. */
const waitMsMax = 5_000;
const retryMs = 50;

export async function connectAdmin(
  flags: AdminFlags,
  { mayMakeFolder = false, mayBeGuest = false, isGuest = false }: AdminConnectionOptions = {},
): Promise<AdminConnection> {
  if (flags.own || flags.baseUrl !== undefined) return onServer(flags, flags.baseUrl);
  const config = configOf(flags);
  const { dataDir, store } = config;
  if (store.kind === 'sqlite' && !mayMakeFolder && folderIsMissing(dataDir)) {
    throw new CliError(
      `There is no data folder ${dataDir} yet. Name another with --data-dir, or a server with --base-url.`,
    );
  }
  const { openAdmin, DataInUseError } = await import('../../app/administration.ts');
  if (isGuest) return onFolder(await openAdmin(config, { as: 'guest' }));
  for (let waitedMs = 0; ; waitedMs += retryMs) {
    try {
      return onFolder(await openAdmin(config));
    } catch (error) {
      if (!(error instanceof DataInUseError)) throw dataFolderError(error, dataDir);
      if (mayBeGuest && flags.adminKey === undefined)
        return onFolder(await openAdmin(config, { as: 'guest' }));
      const server = readServerFile(dataDir);
      if (server !== undefined) return onServer(flags, server.adminBaseUrl);
      if (waitedMs >= waitMsMax) {
        const message = `Another process uses the data folder ${dataDir}, and its address is unknown. Name the server with --base-url.`;
        throw new CliError(message, error);
      }
    }
    await sleep(retryMs);
  }
}

function onFolder(app: AdminApp): AdminConnection {
  return {
    async invoke<K extends AdminMethod>(method: K, init: AdminRequest<K>): Promise<AdminResponse<K>> {
      try {
        const { input, output } = adminMethods[method];
        return create(output, await app.admin[method](create(input, init), cliCall));
      } catch (error) {
        if (!(error instanceof ParleyError)) throw error;
        const { message, advice, code } = error;
        throw new CliError(`${withAdvice(message, advice?.kind, advice?.type)} (${code})`, error);
      }
    },
    close: () => app.close(),
  };
}

/** Loads the client only for a command that calls a server. */
async function onServer(flags: AdminFlags, baseUrl: string | undefined): Promise<AdminConnection> {
  const { serverConnection } = await import('./admin-server.ts');
  return serverConnection(flags, baseUrl);
}
