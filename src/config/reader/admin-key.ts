/** Reads the admin key that is given to a server at its start: from PARLEY_ADMIN_KEY, else from the file of `adminKeyFile`. */
import { readFileSync } from 'node:fs';
import { fileReason } from '../../files/reason.ts';
import { Secret } from './engine-keys.ts';
import type { SettingsTree } from './settings-tree.ts';

const variable = 'PARLEY_ADMIN_KEY';
const filePath = ['adminKeyFile'];
/** Enough that nobody guesses it: 32 hexadecimal digits are 128 bits. */
const charactersMin = 32;
/** Printable ASCII without spaces: a header can carry it. */
const keyPattern = new RegExp(`^[\\x21-\\x7e]{${charactersMin},}$`);
const allowed = `an admin key: at least ${charactersMin} characters without spaces`;
const advice = 'Make one, for example with `openssl rand -hex 32`.';

/** Adds a finding to the tree if it is given but cannot be read. An empty variable counts as none. */
export function readAdminKey(tree: SettingsTree, env: NodeJS.ProcessEnv): Secret | undefined {
  const given = env[variable]?.trim();
  if (given) {
    if (isAdminKey(given)) return new Secret(given);
    const message = `The value of ${variable} is not ${allowed}.`;
    tree.findings.push({ source: { kind: 'variable', name: variable }, setting: '', message, advice });
    return undefined;
  }
  const file = tree.get(filePath);
  return typeof file === 'string' ? readFile(file, tree) : undefined;
}

function readFile(file: string, tree: SettingsTree): Secret | undefined {
  try {
    const text = readFileSync(file, 'utf8').trim();
    if (isAdminKey(text)) return new Secret(text);
    tree.refuse(filePath, `The file ${file} does not hold ${allowed}.`, { advice });
  } catch (cause) {
    tree.refuse(filePath, `The file ${file} cannot be read (${fileReason(cause)}).`);
  }
  return undefined;
}

/** The key of an account must not become an admin key by mistake. */
function isAdminKey(text: string): boolean {
  return keyPattern.test(text) && !text.startsWith('pk_');
}
