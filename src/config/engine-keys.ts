/** Reads the API keys of engines, which stand in the environment or in files of their own. */
import { readFileSync } from 'node:fs';
import type { Finding } from './finding.ts';
import { Secret } from './secret.ts';
import { pathText, type SettingPath } from './setting-path.ts';
import { isMap, type SettingsTree } from './settings-tree.ts';

/** What a header can carry. */
const keyPattern = /^[\x21-\x7e]+$/;

export interface EngineKeys {
  /** By the name of the engine. */
  readonly keys: Readonly<Record<string, Secret>>;
  readonly findings: readonly Finding[];
}

export function readEngineKeys(tree: SettingsTree, env: NodeJS.ProcessEnv): EngineKeys {
  const engines = tree.get(['engines']);
  const keys: Record<string, Secret> = {};
  const findings: Finding[] = [];
  for (const [name, engine] of Object.entries(isMap(engines) ? engines : {})) {
    if (!isMap(engine)) continue;
    const path = ['engines', name];
    const found = readKey(engine, env);
    if (found instanceof Secret) keys[name] = found;
    else if (found !== undefined) findings.push(toFinding(tree, [...path, found.setting], found.message));
  }
  return { keys, findings };
}

interface Problem {
  readonly setting: string;
  readonly message: string;
}

function readKey(
  engine: Readonly<Record<string, unknown>>,
  env: NodeJS.ProcessEnv,
): Secret | Problem | undefined {
  const { apiKeyEnv, apiKeyFile } = engine;
  if (typeof apiKeyEnv === 'string' && typeof apiKeyFile === 'string') {
    return { setting: 'apiKeyFile', message: 'There is `apiKeyEnv` as well. Keep one of them.' };
  }
  if (typeof apiKeyEnv === 'string') return fromVariable(apiKeyEnv, env);
  return typeof apiKeyFile === 'string' ? fromFile(apiKeyFile) : undefined;
}

function fromVariable(name: string, env: NodeJS.ProcessEnv): Secret | Problem {
  const value = env[name]?.trim();
  if (value && keyPattern.test(value)) return new Secret(value);
  const message = value
    ? `The variable ${name} holds no key that a header can carry.`
    : `The variable ${name} is not set.`;
  return { setting: 'apiKeyEnv', message };
}

function fromFile(file: string): Secret | Problem {
  const setting = 'apiKeyFile';
  try {
    const value = readFileSync(file, 'utf8').trim();
    if (keyPattern.test(value)) return new Secret(value);
    return { setting, message: `The file ${file} must hold one key and nothing else.` };
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    return { setting, message: `The file ${file} cannot be read (${code}).` };
  }
}

function toFinding(tree: SettingsTree, path: SettingPath, message: string): Finding {
  return { source: tree.valueSource(path), setting: pathText(path), message };
}
