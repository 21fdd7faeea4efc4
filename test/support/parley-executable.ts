/**
 * Starts a Parley for a test as a process of the executable in PARLEY_TEST_PROGRAM, if the test needs nothing inside
 * the process.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { App } from '../../src/app/create-app.ts';
import { openStore } from '../../src/store/sqlite/open-store.ts';
import { printed, scratchFolder, serve } from './command-line.ts';
import type { ParleyOptions } from './parley.ts';

/** A running server, as a test of the executable sees it. */
interface Executable {
  /** Its store is another connection to the same database, for reading. Its operations are available over the wires only. */
  readonly app: App;
  readonly dataDir: string;
  readonly adminKey: string;
}

/** Whether a test needs nothing that only a server in its own process can have. */
export function runsAsExecutable({ settings, file, ...overrides }: ParleyOptions): boolean {
  const isInjected = Object.values(overrides).some((override) => override !== undefined);
  const hasOther = settings?.['admin'] !== undefined || settings?.['tls'] !== undefined;
  const isNamed = process.env['PARLEY_TEST_PROGRAM'] !== undefined;
  return isNamed && !isInjected && !hasOther && (settings === undefined || file === undefined);
}

export async function startExecutable({ settings, file }: ParleyOptions): Promise<Executable> {
  const folder = scratchFolder();
  const dataDir = folder.file('data');
  const adminKey = (await printed(['key', 'create', '--admin', '--data-dir', dataDir])).trim();
  // JSON is valid YAML.
  if (settings !== undefined) writeFileSync(folder.file('parley.yaml'), JSON.stringify(settings));
  const flags = file === undefined ? [] : ['--config', file];
  const serving = await serve(['--data-dir', dataDir, ...flags], { cwd: folder.path });
  const store = await openStore(dataDir, { as: 'guest' });
  const { baseUrl } = JSON.parse(readFileSync(join(dataDir, 'server.json'), 'utf8')) as { baseUrl: string };
  const app: App = {
    baseUrl,
    adminBaseUrl: baseUrl,
    store,
    hasConsole: true,
    hasDocs: true,
    unavailable: () => [],
    reload: () => {
      throw new Error('An executable takes over a configuration at SIGHUP.');
    },
    get services(): never {
      throw new Error('The operations of an executable are behind its wires.');
    },
    close: async () => {
      await serving.close();
      await store.close();
      rmSync(folder.path, { recursive: true, force: true });
    },
  };
  return { app, dataDir, adminKey };
}

/** Calls an operation of administration; throws if it fails. */
export async function administer(
  { app, adminKey }: Executable,
  path: string,
  body: object,
): Promise<Record<string, unknown>> {
  const response = await fetch(`${app.baseUrl}/admin${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}` },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as Record<string, unknown>;
  if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
  return answer;
}
