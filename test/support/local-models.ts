/** Models in the data folder, as `parley models` leaves them there. */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** @param more of the manifest, such as `contextTokens` */
export function storeModel(dataDir: string, id: string, contents: Uint8Array, more: object = {}): void {
  const folder = join(dataDir, 'models/files', id);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'model.gguf'), contents);
  mkdirSync(join(dataDir, 'models/manifests'), { recursive: true });
  const file = {
    name: 'model.gguf',
    sha256: createHash('sha256').update(contents).digest('hex'),
    bytes: contents.length,
    urls: ['https://models.example/model.gguf'],
  };
  const manifest = { id, type: 'chat', runtime: 'llama', licence: { name: 'MIT' }, files: [file], ...more };
  writeFileSync(join(dataDir, 'models/manifests', `${id}.json`), JSON.stringify(manifest));
}
