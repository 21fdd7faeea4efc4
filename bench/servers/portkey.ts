/** Portkey's gateway, a peer that relays chat. npm installs it into the bench's own cache, without running package scripts. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Served } from './child.ts';
import { install, startPeer } from './peer.ts';

const version = '1.15.2';
/** With newer versions it answers every stream with status 500 on Node 24: "TypeError: immutable". */
const overrides = { '@hono/node-server': '1.3.3' };

/** @returns its entry point. Throws where npm cannot install it, such as without a registry. */
export async function installPortkey(cacheDir: string): Promise<string> {
  const folder = join(cacheDir, `portkey-${version}`);
  const entry = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  if (existsSync(join(folder, 'node_modules/.package-lock.json')) && existsSync(entry)) return entry;
  mkdirSync(folder, { recursive: true });
  const manifest = { private: true, dependencies: { '@portkey-ai/gateway': version }, overrides };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  await install(
    'npm',
    ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder],
    folder,
  );
  return entry;
}

export const startPortkey = (entry: string): Promise<Served> =>
  startPeer({
    name: 'Portkey',
    command: (port) => [process.execPath, entry, `--port=${port}`, '--headless'],
    readyPath: '/',
    startMsMax: 15_000,
  });
