/**
 * The local models of a data folder:
 *
 *     models/manifests/<id>.json   one entry a model
 *     models/blobs/sha256-<hash>   whole files, hashed before they appear here
 *     models/files/<id>/<name>     links to the blobs, under the names that runtimes expect
 *     models/partial/              files that are being pulled
 *     models/checked/              marks of files whose hashes were right
 *     models/licences.json         the licences that the operator has accepted
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  bytesOf,
  idPattern,
  ModelError,
  type ModelFile,
  type ModelManifest,
  memoryOf,
  readManifest,
} from './manifest.ts';

/** A model whose files are all there. */
export interface LocalModel extends Omit<ModelManifest, 'files' | 'memoryBytes'> {
  /** Absolute path of the folder with the files. */
  readonly folder: string;
  /** Absolute paths, by the names in the manifest. */
  readonly files: readonly { readonly name: string; readonly path: string }[];
  readonly memoryBytes: number;
}

export interface ModelEntry {
  readonly manifest: ModelManifest;
  readonly bytes: number;
  readonly memoryBytes: number;
  /** Whether all files are there. */
  readonly isPulled: boolean;
}

export class ModelStore {
  /** Absolute path. */
  readonly root: string;

  /** @param dataDir the data folder of the configuration */
  constructor(dataDir: string) {
    this.root = resolve(dataDir, 'models');
  }

  /**
   * A model that is pulled. Sizes are compared here, hashes when a file arrives and by `verify`.
   * @throws ModelError if the model is not known, or a file is missing or has another size
   */
  resolve(id: string): LocalModel {
    const manifest = this.manifest(id);
    for (const file of manifest.files) {
      const bytes = sizeOf(this.path(id, file.name));
      if (bytes === file.bytes) continue;
      const flaw = bytes === undefined ? 'is missing' : `has ${bytes} bytes instead of ${file.bytes}`;
      throw new ModelError(`${file.name} of the model ${id} ${flaw}. Run \`parley models pull ${id}\`.`);
    }
    const files = manifest.files.map(({ name }) => ({ name, path: this.path(id, name) }));
    return { ...manifest, folder: this.path(id), files, memoryBytes: memoryOf(manifest) };
  }

  /** @throws ModelError if there is no valid manifest */
  manifest(id: string): ModelManifest {
    const file = this.manifestFile(id);
    if (!existsSync(file)) {
      throw new ModelError(
        `There is no local model ${id}. \`parley models list\` shows those that there are, and \`parley models available\` those that can be pulled by name.`,
      );
    }
    const manifest = readManifest(file);
    if (manifest.id === id) return manifest;
    throw new ModelError(`The manifest ${file} has another id, ${manifest.id}. Rename one of them.`);
  }

  /** All entries in the order of their ids. @throws ModelError for a manifest that is not valid */
  list(): ModelEntry[] {
    const folder = join(this.root, 'manifests');
    if (!existsSync(folder)) return [];
    const ids = readdirSync(folder).flatMap((name) => /^([^.].*)\.json$/.exec(name)?.[1] ?? []);
    return ids.sort().map((id) => {
      const manifest = this.manifest(id);
      const isPulled = manifest.files.every(({ name, bytes }) => sizeOf(this.path(id, name)) === bytes);
      return { manifest, bytes: bytesOf(manifest), memoryBytes: memoryOf(manifest), isPulled };
    });
  }

  /** @throws ModelError for a text that cannot be an id */
  manifestFile(id: string): string {
    if (!idPattern.test(id)) throw new ModelError(`${JSON.stringify(id)} is not the id of a model.`);
    return join(this.root, 'manifests', `${id}.json`);
  }

  /** The folder of a model, or a file in it. */
  path(id: string, name = ''): string {
    return join(this.root, 'files', id, name);
  }

  blob({ sha256 }: Pick<ModelFile, 'sha256'>): string {
    return join(this.root, 'blobs', `sha256-${sha256}`);
  }
}

/** Undefined unless there is a file. */
export function sizeOf(path: string): number | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.isFile() ? stats.size : undefined;
}
