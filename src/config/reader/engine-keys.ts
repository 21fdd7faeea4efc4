/** Reads the API keys of engines from the environment or from files. */
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { unsendable } from '../../core/access/key-flaws.ts';
import { fileReason } from '../../files/reason.ts';
import { isMap, type SettingPath, type SettingsTree } from './settings-tree.ts';

const placeholder = '(secret)';

/** A value that logs, JSON and messages do not show. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return placeholder;
  }

  toJSON(): string {
    return placeholder;
  }

  [inspect.custom](): string {
    return placeholder;
  }
}

/** The keys by the name of the engine. Adds a finding to the tree for each that cannot be read. */
export function readEngineKeys(tree: SettingsTree, env: NodeJS.ProcessEnv): Readonly<Record<string, Secret>> {
  const engines = tree.get(['engines']);
  const keys: Record<string, Secret> = {};
  for (const name of isMap(engines) ? Object.keys(engines) : []) {
    const variablePath = ['engines', name, 'apiKeyEnv'];
    const filePath = ['engines', name, 'apiKeyFile'];
    const [variable, file] = [tree.get(variablePath), tree.get(filePath)];
    let key: string | undefined;
    if (typeof variable === 'string' && typeof file === 'string') {
      tree.refuse(filePath, '`apiKeyEnv` is set as well. Keep one of them.');
    } else if (typeof variable === 'string') key = readVariable(variable, env, variablePath, tree);
    else if (typeof file === 'string') key = readFile(file, filePath, tree);
    if (key !== undefined) keys[name] = new Secret(key);
  }
  return keys;
}

function readVariable(
  name: string,
  env: NodeJS.ProcessEnv,
  path: SettingPath,
  tree: SettingsTree,
): string | undefined {
  const value = env[name]?.trim();
  const flaw = value ? unsendable(value) : undefined;
  if (value && flaw === undefined) return value;
  const message = value
    ? `The key in the variable ${name} ${flaw}: an HTTP header cannot carry it.`
    : `The variable ${name} is not set.`;
  const advice =
    'Set it in the environment of the server, or write the key into a file and name that with `apiKeyFile`.';
  tree.refuse(path, message, { advice });
  return undefined;
}

function readFile(file: string, path: SettingPath, tree: SettingsTree): string | undefined {
  try {
    const value = readFileSync(file, 'utf8').trim();
    const flaw = unsendable(value);
    if (flaw === undefined) return value;
    tree.refuse(path, `The file ${file} must hold one key and nothing else. The key ${flaw}.`);
  } catch (cause) {
    tree.refuse(path, `The file ${file} cannot be read (${fileReason(cause)}).`);
  }
  return undefined;
}
