/** Reads the URL of the database, which may hold a password: from `store.url`, else from the file of `store.urlFile`. */
import { readFileSync } from 'node:fs';
import { fileReason } from '../../files/reason.ts';
import { store } from '../schema/store.ts';
import { Secret } from './engine-keys.ts';
import type { SettingsTree } from './settings-tree.ts';

const urlPath = ['store', 'url'];
const filePath = ['store', 'urlFile'];

/** Adds a finding to the tree if the file cannot be read. */
export function readStoreUrl(tree: SettingsTree): Secret | undefined {
  const url = tree.get(urlPath);
  if (typeof url === 'string') return new Secret(url);
  const file = tree.get(filePath);
  if (typeof file !== 'string') return undefined;
  try {
    const text = readFileSync(file, 'utf8').trim();
    if (store.safeParse({ kind: 'postgres', url: text }).success) return new Secret(text);
    tree.refuse(
      filePath,
      `The file ${file} does not hold a URL such as postgres://parley@db.example.com:5432/parley.`,
    );
  } catch (cause) {
    tree.refuse(filePath, `The file ${file} cannot be read (${fileReason(cause)}).`);
  }
  return undefined;
}
