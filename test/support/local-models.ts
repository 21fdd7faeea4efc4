/** Models in the data folder, as `parley models` leaves them there. */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** @param more of the manifest, such as `contextTokens` */
export function storeModel(dataDir: string, id: string, contents: Uint8Array, more: object = {}): void {
  const manifest = { id, type: 'chat', runtime: 'llama', ...more } as const;
  storeFiles(dataDir, manifest, { 'model.gguf': contents });
}

interface StoredModel {
  readonly id: string;
  readonly type: 'speech' | 'transcription' | 'chat';
  readonly runtime: 'llama' | 'sherpa';
  readonly voices?: readonly { readonly name: string; readonly language: string }[];
  readonly languages?: readonly string[];
}

export function storeFiles(
  dataDir: string,
  model: StoredModel,
  contents: Readonly<Record<string, Uint8Array>>,
): void {
  const folder = join(dataDir, 'models/files', model.id);
  mkdirSync(folder, { recursive: true });
  mkdirSync(join(dataDir, 'models/manifests'), { recursive: true });
  const files = Object.entries(contents).map(([name, bytes]) => {
    writeFileSync(join(folder, name), bytes);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    return { name, sha256, bytes: bytes.length, urls: [`https://models.example/${name}`] };
  });
  const manifest = { licence: { name: 'MIT' }, ...model, files };
  writeFileSync(join(dataDir, 'models/manifests', `${model.id}.json`), JSON.stringify(manifest));
}
