/** The server that a command calls, and its key: flags and variables first, then the files of the data folder. */
import { readFirstRun } from '../../app/demo.ts';
import {
  type AdminFlags,
  type ClientFlags,
  type ConfigFlags,
  configOf,
  defaultBaseUrl,
  type ServerFlags,
} from '../flags.ts';
import { CliError } from '../terminal/command.ts';
import { folderIsMissing } from './data-folder.ts';
import { ServerConnection } from './server-connection.ts';
import { readServerFile } from './server-file.ts';

/** The base URL of the server, for a call without a key. */
export function serverUrl({ baseUrl, ...flags }: ServerFlags): string {
  return baseUrl ?? knownServers(flags).baseUrls[0] ?? defaultBaseUrl;
}

/** @throws CliError if no key for the server is known */
export function clientServer({ baseUrl, apiKey, ...flags }: ClientFlags): ServerConnection {
  if (baseUrl !== undefined && apiKey !== undefined) return new ServerConnection({ baseUrl, key: apiKey });
  const known = knownServers(flags);
  const chosen = baseUrl ?? known.baseUrls[0] ?? defaultBaseUrl;
  const key = apiKey ?? keyFor(chosen, known)?.apiKey;
  if (key !== undefined) return new ServerConnection({ baseUrl: chosen, key });
  if (baseUrl === undefined && folderIsMissing(known.dataDir)) {
    throw new CliError(
      `There is no data folder ${known.dataDir} yet. Name another with --data-dir, or a server with --base-url and a key for it with --api-key or PARLEY_API_KEY.`,
    );
  }
  throw new CliError(
    `There is no API key for ${chosen}. Give one with --api-key or PARLEY_API_KEY; \`parley key create --account NAME\` creates one.`,
  );
}

/** @throws CliError if no key for the server is known */
export function adminServer(baseUrl: string, { adminKey, ...flags }: AdminFlags): ServerConnection {
  const key = adminKey || keyFor(baseUrl, knownServers(flags))?.adminKey;
  if (key !== undefined) return new ServerConnection({ baseUrl, key });
  throw new CliError(
    `The server at ${baseUrl} needs an admin key. Give one with --admin-key or PARLEY_ADMIN_KEY; \`parley key create --admin\` on its machine creates one.`,
  );
}

interface KnownKeys {
  readonly apiKey?: string;
  readonly adminKey?: string;
}

interface KnownServers {
  readonly dataDir: string;
  /** Base URLs of the folder's own server: the running one, the one of the first start, the administration port. */
  readonly baseUrls: readonly string[];
  /** The keys of the first start; for administration first the configured admin key of the server. */
  readonly keys: KnownKeys;
}

function knownServers(flags: ConfigFlags): KnownServers {
  const { dataDir, adminKey } = configOf(flags);
  const firstRun = readFirstRun(dataDir);
  const server = readServerFile(dataDir);
  const baseUrls = [server?.baseUrl, firstRun?.baseUrl, server?.adminBaseUrl];
  const keys = { ...firstRun, ...(adminKey && { adminKey: adminKey.reveal() }) };
  return { dataDir, baseUrls: baseUrls.filter((url) => url !== undefined), keys };
}

/** The keys of a data folder are sent only to its own server, never to another that a flag names. */
function keyFor(baseUrl: string, { baseUrls, keys }: KnownServers): KnownKeys | undefined {
  return baseUrls.includes(baseUrl) ? keys : undefined;
}
