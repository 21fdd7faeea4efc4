/** The files of a model, by their names and their metadata. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

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

/** The fields of ONNX's ModelProto and its StringStringEntryProto. */
export const onnxFields = { metadata: 14, key: 1, value: 2 } as const;
/** A tag and a length. */
const headBytes = 20;
const entryBytesMax = 1024 ** 2;

/**
 * The metadata of an ONNX file. Does not read its weights.
 * @throws if the file is no whole ONNX file
 */
function onnxMetadata(path: string): ReadonlyMap<string, string> {
  const file = openSync(path, 'r');
  try {
    return readFields(file, fstatSync(file).size);
  } catch (error) {
    if (error instanceof RangeError) throw new Error('it is no whole ONNX file', { cause: error });
    throw error;
  } finally {
    closeSync(file);
  }
}

function readFields(file: number, size: number): ReadonlyMap<string, string> {
  const metadata = new Map<string, string>();
  let at = 0;
  while (at < size) {
    const head = new BinaryReader(readAt(file, at, Math.min(headBytes, size - at)));
    const [field, type] = readTag(head);
    if (type === WireType.Varint) head.uint64();
    const length = type === WireType.LengthDelimited ? head.uint32() : 0;
    at += head.pos;
    if (length > size - at) throw new RangeError('a field is longer than the file');
    if (field === onnxFields.metadata && length <= entryBytesMax) {
      const [key, value] = readEntry(readAt(file, at, length));
      metadata.set(key, value);
    }
    at += length;
  }
  return metadata;
}

/** Numbers and fields with a length; ModelProto has no others. */
function readTag(reader: BinaryReader): [number, WireType] {
  try {
    const [field, type] = reader.tag();
    if (type === WireType.Varint || type === WireType.LengthDelimited) return [field, type];
  } catch (cause) {
    throw new RangeError('a tag cannot be read', { cause });
  }
  throw new RangeError('a field has another type');
}

function readEntry(bytes: Uint8Array): [string, string] {
  const reader = new BinaryReader(bytes);
  const texts = new Map<number, string>();
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (type === WireType.LengthDelimited) texts.set(field, reader.string());
    else reader.skip(type);
  }
  return [texts.get(onnxFields.key) ?? '', texts.get(onnxFields.value) ?? ''];
}

function readAt(file: number, position: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  if (readSync(file, bytes, 0, length, position) < length) throw new RangeError('the file ends');
  return bytes;
}
