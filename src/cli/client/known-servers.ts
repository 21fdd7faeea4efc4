/** The server of a data folder and its keys, from the folder's files. */
import { readFirstRun } from '../../app/first-run.ts';
import { configOf } from '../configuration.ts';
import { type ConfigFlags, defaultBaseUrl, type ServerFlags } from '../flags.ts';
import { readServerFile } from './server-file.ts';

/** The base URL of the server, for a call without a key. */
export function serverUrl({ baseUrl, ...flags }: ServerFlags): string {
  return baseUrl ?? knownServers(flags).baseUrls[0] ?? defaultBaseUrl;
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

export function knownServers(flags: ConfigFlags): KnownServers {
  const { dataDir, adminKey } = configOf(flags);
  const firstRun = readFirstRun(dataDir);
  const server = readServerFile(dataDir);
  const baseUrls = [server?.baseUrl, firstRun?.baseUrl, server?.adminBaseUrl];
  const keys = { ...firstRun, ...(adminKey && { adminKey: adminKey.reveal() }) };
  return { dataDir, baseUrls: baseUrls.filter((url) => url !== undefined), keys };
}

/** The keys of a data folder are sent only to its own server, never to another that a flag names. */
export function keyFor(baseUrl: string, { baseUrls, keys }: KnownServers): KnownKeys | undefined {
  return baseUrls.includes(baseUrl) ? keys : undefined;
}
