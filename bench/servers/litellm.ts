/** LiteLLM's proxy, a peer that relays chat. pip installs it from wheels into an environment in the bench's own cache. */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Served } from './child.ts';
import { install, startPeer } from './peer.ts';

const version = '1.104.0';
/** LiteLLM refuses to start with a weak key. */
const masterKey = 'sk-4f1c2b9de07a4c6f9b1d3e5a7c9e0b2d';

/** @returns its folder. Throws where pip cannot install it, such as without a registry. */
export async function installLitellm(cacheDir: string): Promise<string> {
  const folder = join(cacheDir, `litellm-${version}`);
  const done = join(folder, 'installed');
  if (existsSync(done)) return folder;
  rmSync(folder, { recursive: true, force: true });
  await install('python3', ['-m', 'venv', folder], cacheDir);
  const wheels = ['install', '--no-input', '--quiet', '--only-binary', ':all:'];
  await install(join(folder, 'bin/pip'), [...wheels, `litellm[proxy]==${version}`], folder);
  writeFileSync(done, '');
  return folder;
}

/**
 * Runs LiteLLM with its defaults: one process, a master key, and the cost of each request computed. Its ledger and keys
 * of users need a PostgreSQL database, which it does not have here.
 */
export async function startLitellm(folder: string, upstream: string): Promise<Served> {
  const target = { model: 'openai/mock-model', api_base: `${upstream}/v1`, api_key: 'none' };
  const settings = {
    model_list: [{ model_name: 'bench', litellm_params: target }],
    general_settings: { master_key: masterKey },
  };
  const config = join(folder, 'config.yaml');
  writeFileSync(config, JSON.stringify(settings));
  const served = await startPeer({
    name: 'LiteLLM',
    command: (port) => [
      join(folder, 'bin/litellm'),
      '--config',
      config,
      '--host',
      '127.0.0.1',
      '--port',
      `${port}`,
    ],
    // Otherwise it reads prices from GitHub at start.
    env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
    readyPath: '/health/liveliness',
    startMsMax: 180_000,
  });
  return { ...served, key: masterKey };
}
