/** Reads secrets from variables of the environment and from files. A finding of the tree names each that cannot be read. */
import { readFileSync } from 'node:fs';
import { unsendable } from '../../core/access/key-flaws.ts';
import { fileReason } from '../../files/reason.ts';
import { store } from '../schema/store.ts';
import { isMap, type SettingPath } from './setting-path.ts';
import type { SettingsTree } from './settings-tree.ts';

/** A value that logs, JSON and messages do not show: its field is private. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }
}

export interface Secrets {
  /** The API keys of engines, by the name of the engine. */
  readonly engineKeys: Readonly<Record<string, Secret>>;
  readonly guardKey: Secret | undefined;
  /** An admin key that the server accepts besides those of its database. */
  readonly adminKey: Secret | undefined;
  /** The URL of the PostgreSQL database, with its password. */
  readonly storeUrl: Secret | undefined;
  /** Seals the secrets of alerts in the database. */
  readonly sealingKey: Secret | undefined;
  /** The password of the mail server. */
  readonly smtpPassword: Secret | undefined;
  /** The secret of this client at the identity provider. */
  readonly oidcSecret: Secret | undefined;
}

export function readSecrets(tree: SettingsTree, env: NodeJS.ProcessEnv): Secrets {
  return {
    engineKeys: readEngineKeys(tree, env),
    guardKey: readUpstreamKey(tree, env, ['guard']),
    adminKey: readAdminKey(tree, env),
    storeUrl: readStoreUrl(tree),
    sealingKey: readSealingKey(tree),
    smtpPassword: readSecretFile(tree, ['alerts', 'smtp', 'passwordFile'], emptiness),
    oidcSecret: readSecretFile(tree, ['oidc', 'clientSecretFile'], emptiness),
  };
}

/** Random keys have at least 32 hexadecimal digits, which are 128 bits. */
const charactersMin = 32;

const emptiness = (text: string) => (text === '' ? 'is empty' : undefined);

/** The secret in the file that a setting names. A problem is in words that follow the name of the file. */
function readSecretFile(
  tree: SettingsTree,
  path: SettingPath,
  problemOf: (text: string) => string | undefined,
  advice?: string,
): Secret | undefined {
  const file = tree.get(path);
  if (typeof file !== 'string') return undefined;
  try {
    const text = readFileSync(file, 'utf8').trim();
    const problem = problemOf(text);
    if (problem === undefined) return new Secret(text);
    tree.refuse(path, `The file ${file} ${problem}.`, { advice });
  } catch (cause) {
    tree.refuse(path, `The file ${file} cannot be read (${fileReason(cause)}).`);
  }
  return undefined;
}

function readEngineKeys(tree: SettingsTree, env: NodeJS.ProcessEnv): Readonly<Record<string, Secret>> {
  const engines = tree.get(['engines']);
  const keys: Record<string, Secret> = {};
  for (const name of isMap(engines) ? Object.keys(engines) : []) {
    const key = readUpstreamKey(tree, env, ['engines', name]);
    if (key !== undefined) keys[name] = key;
  }
  return keys;
}

function readUpstreamKey(
  tree: SettingsTree,
  env: NodeJS.ProcessEnv,
  upstream: SettingPath,
): Secret | undefined {
  const variablePath = [...upstream, 'apiKeyEnv'];
  const filePath = [...upstream, 'apiKeyFile'];
  const variable = tree.get(variablePath);
  if (typeof variable !== 'string') {
    return readSecretFile(tree, filePath, (key) => {
      const flaw = unsendable(key);
      return flaw && `must hold one key and nothing else. The key ${flaw}`;
    });
  }
  if (typeof tree.get(filePath) === 'string') {
    tree.refuse(filePath, '`apiKeyEnv` is set as well. Keep one of them.');
    return undefined;
  }
  const key = env[variable]?.trim();
  const flaw = key && unsendable(key);
  if (key && flaw === undefined) return new Secret(key);
  const message = key
    ? `The key in the variable ${variable} ${flaw}: an HTTP header cannot carry it.`
    : `The variable ${variable} is not set.`;
  const advice =
    'Set it in the environment of the server, or write the key into a file and name that with `apiKeyFile`.';
  tree.refuse(variablePath, message, { advice });
  return undefined;
}

/** The admin key that is given to a server at its start: from PARLEY_ADMIN_KEY, else from the file of `adminKeyFile`. */
function readAdminKey(tree: SettingsTree, env: NodeJS.ProcessEnv): Secret | undefined {
  const name = 'PARLEY_ADMIN_KEY';
  const allowed = `an admin key: at least ${charactersMin} characters without spaces`;
  const advice = 'Make one, for example with `openssl rand -hex 32`.';
  const given = env[name]?.trim();
  if (!given) {
    const problemOf = (key: string) => (isAdminKey(key) ? undefined : `does not hold ${allowed}`);
    return readSecretFile(tree, ['adminKeyFile'], problemOf, advice);
  }
  if (isAdminKey(given)) return new Secret(given);
  const message = `The value of ${name} is not ${allowed}.`;
  tree.findings.push({ source: { kind: 'variable', name }, setting: '', message, advice });
  return undefined;
}

/** The key of an account must not become an admin key by mistake. */
function isAdminKey(key: string): boolean {
  return key.length >= charactersMin && unsendable(key) === undefined && !key.startsWith('pk_');
}

/** The URL of the database, which may hold a password: from `store.url`, else from the file of `store.urlFile`. */
function readStoreUrl(tree: SettingsTree): Secret | undefined {
  const url = tree.get(['store', 'url']);
  if (typeof url === 'string') return new Secret(url);
  const problem = 'does not hold a URL such as postgres://parley@db.example.com:5432/parley';
  const isUrl = (text: string) => store.safeParse({ kind: 'postgres', url: text }).success;
  return readSecretFile(tree, ['store', 'urlFile'], (text) => (isUrl(text) ? undefined : problem));
}

function readSealingKey(tree: SettingsTree): Secret | undefined {
  const problem = `holds fewer than ${charactersMin} characters`;
  const advice = 'Make a key, for example with `openssl rand -hex 32`.';
  const problemOf = ({ length }: string) => (length >= charactersMin ? undefined : problem);
  return readSecretFile(tree, ['alerts', 'sealingKeyFile'], problemOf, advice);
}
