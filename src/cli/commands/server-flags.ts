/** Which server a command calls, and with which key: flags and variables first, then what the data folder knows. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type FirstRun, readFirstRun } from '../../app/demo.ts';
import { basePath } from '../../core/base-path.ts';
import type { Server } from '../client/http-client.ts';
import { readServerFile } from '../client/server-file.ts';
import { CliError } from '../terminal/cli-error.ts';
import { type ConfigFlags, configOf, withConfigFlags } from './config-flags.ts';
import { folderIsMissing } from './data-folder.ts';

export interface ServerFlags extends ConfigFlags {
  readonly baseUrl?: string;
}

export interface ClientFlags extends ServerFlags {
  readonly apiKey?: string;
}

export interface AdminFlags extends ServerFlags {
  readonly adminKey?: string;
}

const defaultBaseUrl = `http://127.0.0.1:8080${basePath}`;

const baseUrlOption = (description: string) =>
  new Option('--base-url <url>', description).env('PARLEY_BASE_URL').argParser(parseBaseUrl);

export function withClientFlags(command: Command): Command {
  command
    .addOption(baseUrlOption('the server (default: that of the data folder)'))
    .addOption(
      new Option('--api-key <key>', 'an API key (default: that of `serve --demo`)').env('PARLEY_API_KEY'),
    );
  return withConfigFlags(command);
}

export function withAdminFlags(command: Command): Command {
  command
    .addOption(baseUrlOption('the server to manage (default: the data folder, or the server that has it)'))
    .addOption(
      new Option('--admin-key <key>', 'an admin key for that server (default: that of `serve --demo`)').env(
        'PARLEY_ADMIN_KEY',
      ),
    );
  return withConfigFlags(command);
}

export function withServerFlags(command: Command): Command {
  return withConfigFlags(command.addOption(baseUrlOption('the server (default: that of the data folder)')));
}

/** Where a server is that needs no key. */
export function serverUrl({ baseUrl, ...flags }: ServerFlags): string {
  return baseUrl ?? knownServers(flags).baseUrls[0] ?? defaultBaseUrl;
}

/** @throws CliError where there is no key for the server */
export function clientServer({ baseUrl, apiKey, ...flags }: ClientFlags): Server {
  if (baseUrl !== undefined && apiKey !== undefined) return { baseUrl, key: apiKey };
  const known = knownServers(flags);
  const chosen = baseUrl ?? known.baseUrls[0] ?? defaultBaseUrl;
  const key = apiKey ?? keyFor(chosen, known)?.apiKey;
  if (key !== undefined) return { baseUrl: chosen, key };
  if (baseUrl === undefined && folderIsMissing(known.dataDir)) {
    throw new CliError(
      `There is no data folder ${known.dataDir} yet. Name the right one with --data-dir, or a server with --base-url and a key for it with --api-key or PARLEY_API_KEY.`,
    );
  }
  throw new CliError(
    `There is no API key for ${chosen}. Give one with --api-key or PARLEY_API_KEY; \`parley key create --account NAME\` makes one.`,
  );
}

/** @throws CliError where there is no key for the server */
export function adminServer(baseUrl: string, { adminKey, ...flags }: AdminFlags): Server {
  const key = adminKey ?? keyFor(baseUrl, knownServers(flags))?.adminKey;
  if (key !== undefined) return { baseUrl, key };
  throw new CliError(
    `The server at ${baseUrl} needs an admin key. Give one with --admin-key or PARLEY_ADMIN_KEY; \`parley key create --admin\` makes one while the server is stopped.`,
  );
}

interface KnownServers {
  readonly dataDir: string;
  /** Where the server of the data folder is or was, the surest first; where it is administered, last. */
  readonly baseUrls: readonly string[];
  readonly firstRun: FirstRun | undefined;
}

function knownServers(flags: ConfigFlags): KnownServers {
  const { dataDir } = configOf(flags);
  const firstRun = readFirstRun(dataDir);
  const server = readServerFile(dataDir);
  const baseUrls = [server?.baseUrl, firstRun?.baseUrl, server?.adminBaseUrl];
  return { dataDir, baseUrls: baseUrls.filter((url) => url !== undefined), firstRun };
}

/** The keys of a data folder go to its own server and to no other that a flag may name. */
function keyFor(baseUrl: string, { baseUrls, firstRun }: KnownServers): FirstRun | undefined {
  return baseUrls.includes(baseUrl) ? firstRun : undefined;
}

/** The version prefix stands at the end of a base URL; who leaves it out means it. */
function parseBaseUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new InvalidArgumentError(`Write a URL such as ${defaultBaseUrl}.`);
  }
  const path = url.pathname.replace(/\/+$/, '');
  return url.origin + (path === '' ? basePath : path);
}
