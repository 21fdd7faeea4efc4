/** Reads the key that seals the secrets of webhooks, from the file of `alerts.sealingKeyFile`. */
import { readFileSync } from 'node:fs';
import { fileReason } from '../../files/reason.ts';
import { Secret } from './engine-keys.ts';
import type { SettingsTree } from './settings-tree.ts';

const filePath = ['alerts', 'sealingKeyFile'];
const charactersMin = 32;

/** Adds a finding to the tree if the file holds no key. */
export function readSealingKey(tree: SettingsTree): Secret | undefined {
  const file = tree.get(filePath);
  if (typeof file !== 'string') return undefined;
  try {
    const text = readFileSync(file, 'utf8').trim();
    if (text.length >= charactersMin) return new Secret(text);
    tree.refuse(filePath, `The file ${file} holds fewer than ${charactersMin} characters.`, {
      advice: 'Make a key, for example with `openssl rand -hex 32`.',
    });
  } catch (cause) {
    tree.refuse(filePath, `The file ${file} cannot be read (${fileReason(cause)}).`);
  }
  return undefined;
}
