/** The server that a command calls, and its key: flags and variables first, then the files of the data folder. */
import { type AdminFlags, type ClientFlags, defaultBaseUrl } from '../flags.ts';
import { CliError } from '../terminal/command.ts';
import { folderIsMissing } from './data-folder.ts';
import { keyFor, knownServers } from './known-servers.ts';
import { ServerConnection } from './server-connection.ts';

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
