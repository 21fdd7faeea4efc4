/** The files of a model, by their names and their metadata. */
import { onnxMetadata } from './onnx-metadata.ts';

export interface ModelFiles {
  readonly id: string;
  readonly files: readonly { readonly name: string; readonly path: string }[];
}

export interface TypedFile {
  readonly name: string;
  readonly path: string;
  readonly metadata: ReadonlyMap<string, string>;
  /** Empty if the metadata have none. */
  readonly type: string;
}

/** The ONNX files with their metadata. @throws an error that names the file which cannot be used */
export function typedFiles({ files }: ModelFiles): TypedFile[] {
  const models = files.filter(({ name }) => name.endsWith('.onnx'));
  return models.map(({ name, path }) => {
    try {
      const metadata = onnxMetadata(path);
      return { name, path, metadata, type: metadata.get('model_type') ?? '' };
    } catch (error) {
      throw new Error(`${name} cannot be used: ${error instanceof Error ? error.message : error}.`);
    }
  });
}

/** The files of a model in several parts: transducers have three of them, Whisper and streaming Paraformer models two. */
export function partsOf(model: ModelFiles) {
  const part = (name: string) => findFile(model, new RegExp(`${name}[^/]*\\.onnx$`));
  return { encoder: part('encoder'), decoder: part('decoder'), joiner: part('joiner') };
}

export function findFile({ files }: ModelFiles, pattern: RegExp): string | undefined {
  return files.find(({ name }) => pattern.test(name))?.path;
}

export function tokensOf(model: ModelFiles): string | undefined {
  return findFile(model, /tokens\.txt$/);
}
