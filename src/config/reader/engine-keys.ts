/** Reads the API keys of engines, which stand in the environment or in files of their own. */
import { readFileSync } from 'node:fs';
import { fileReason } from '../../files/reason.ts';
import { Secret } from '../schema/secret.ts';
import type { Finding } from './finding.ts';
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
    else if (found !== undefined) findings.push(toFinding(tree, path, found));
  }
  return { keys, findings };
}

interface Problem {
  readonly setting: string;
  readonly message: string;
  readonly advice?: string;
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
  const advice =
    'Set it in the environment of the server, or write the key into a file and name that with `apiKeyFile`.';
  return { setting: 'apiKeyEnv', message, advice };
}

function fromFile(file: string): Secret | Problem {
  const setting = 'apiKeyFile';
  try {
    const value = readFileSync(file, 'utf8').trim();
    if (keyPattern.test(value)) return new Secret(value);
    return { setting, message: `The file ${file} must hold one key and nothing else.` };
  } catch (cause) {
    return { setting, message: `The file ${file} cannot be read (${fileReason(cause)}).` };
  }
}

function toFinding(tree: SettingsTree, engine: SettingPath, { setting, message, advice }: Problem): Finding {
  const path = [...engine, setting];
  return { source: tree.valueSource(path), setting: pathText(path), message, advice };
}
