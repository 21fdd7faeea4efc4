/** Starts the real program with a scripted upstream behind it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Parley, type ParleyOptions, startParley } from './parley.ts';

export const upstreamKey = 'sk-of-the-upstream';

export interface BehindOptions extends Omit<ParleyOptions, 'file'> {
  /** Settings of the engine `upstream`, except its kind, address and key. */
  readonly engine?: Record<string, unknown>;
  /** Default: the chat model `served`, which the upstream calls `upstream-model`. One credit per million tokens. */
  readonly models?: readonly Record<string, unknown>[];
}

export const servedModel = {
  id: 'served',
  type: 'chat',
  engine: 'upstream',
  price: { input: 1, output: 1 },
  contextTokens: 100_000,
  outputTokensMax: 4_096,
};

/** @param baseUrl of the upstream */
export async function startBehind(baseUrl: string, options: BehindOptions = {}): Promise<Parley> {
  const { engine, models = [servedModel], ...others } = options;
  const folder = mkdtempSync(join(tmpdir(), 'parley-upstream-'));
  const file = join(folder, 'parley.yaml');
  const apiKeyFile = join(folder, 'key');
  writeFileSync(apiKeyFile, `${upstreamKey}\n`);
  const upstream = { kind: 'openai', baseUrl, apiKeyFile, models: { served: 'upstream-model' }, ...engine };
  // JSON is valid YAML.
  writeFileSync(file, JSON.stringify({ engines: { upstream }, models }));
  try {
    return await startParley({ ...others, file });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
