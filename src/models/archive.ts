/** Takes single files out of archives: zip, as wheels are, and tar, plain or compressed by gzip, as npm has packages. */
import { on } from 'node:events';
import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createInflateRaw } from 'node:zlib';
import { Parser, ReadEntry } from 'tar';
import { ModelError } from './manifest.ts';

/** The end of a zip archive has at most 22 bytes and a comment. */
const zipEndBytesMax = 22 + 65_535;
const [endMark, entryMark] = [Buffer.from('PK\x05\x06'), 0x02014b50];
const deflated = 8;

/** @throws ModelError if the archive has no such file */
export async function* readMember(
  archive: string,
  member: string,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  if (await isZip(archive)) return yield* inZip(archive, member);
  for await (const { kind, name, content } of tarEntries(archive, signal))
    if (kind === 'file' && name === member) return yield* content;
  throw missing(member);
}

function missing(member: string): ModelError {
  return new ModelError(`The archive has no file ${member}.`);
}

export async function isZip(path: string): Promise<boolean> {
  const file = await open(path);
  const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0).finally(() => file.close());
  // The name of the first file of a plain tar archive may begin with PK, too.
  return ['PK\x03\x04', 'PK\x05\x06'].includes(buffer.toString('latin1'));
}

async function* inZip(archive: string, member: string): AsyncGenerator<Buffer> {
  const file = await open(archive);
  try {
    const entry = (await entriesOf(file)).get(member);
    if (entry === undefined) throw missing(member);
    if (entry.bytes === 0) return;
    const head = await readAt(file, entry.at, 30);
    const start = entry.at + 30 + head.readUInt16LE(26) + head.readUInt16LE(28);
    const bytes = file.createReadStream({ start, end: start + entry.bytes - 1 });
    yield* entry.isDeflated ? pipeline(bytes, createInflateRaw(), () => undefined) : bytes;
  } finally {
    await file.close();
  }
}

interface ZipEntry {
  /** Where its own header begins. */
  readonly at: number;
  /** As they are in the archive. */
  readonly bytes: number;
  readonly isDeflated: boolean;
}

async function entriesOf(file: FileHandle): Promise<ReadonlyMap<string, ZipEntry>> {
  const { size } = await file.stat();
  const end = await readAt(file, Math.max(0, size - zipEndBytesMax), Math.min(size, zipEndBytesMax));
  const found = end.lastIndexOf(endMark);
  if (found < 0) throw new RangeError('it ends early');
  const [listBytes, listAt] = [end.readUInt32LE(found + 12), end.readUInt32LE(found + 16)];
  if (listAt + listBytes > size) throw new RangeError('its list of files is damaged');
  const list = await readAt(file, listAt, listBytes);
  const entries = new Map<string, ZipEntry>();
  for (let at = 0; at < list.length; ) {
    if (list.readUInt32LE(at) !== entryMark) throw new RangeError('its list of files is damaged');
    const [nameBytes, extra, comment] = [28, 30, 32].map((field) => list.readUInt16LE(at + field));
    const name = list.toString('utf8', at + 46, at + 46 + (nameBytes ?? 0));
    entries.set(name, {
      at: list.readUInt32LE(at + 42),
      bytes: list.readUInt32LE(at + 20),
      isDeflated: list.readUInt16LE(at + 10) === deflated,
    });
    at += 46 + (nameBytes ?? 0) + (extra ?? 0) + (comment ?? 0);
  }
  return entries;
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, position);
  if (bytesRead < length) throw new RangeError('it ends early');
  return buffer;
}

export interface TarEntry {
  readonly kind: 'file' | 'folder' | 'link';
  /** As the archive has it. */
  readonly name: string;
  /** The path that a link leads to. */
  readonly target: string;
  readonly bytes: number;
  readonly isExecutable: boolean;
  /** The bytes of a file. To be read at most once, before the next entry. */
  readonly content: AsyncIterable<Buffer>;
}

/** Maximum size of a record that gives an entry a longer name. */
const recordBytesMax = 65_536;

const kinds: Readonly<Record<string, TarEntry['kind']>> = {
  File: 'file',
  OldFile: 'file',
  Directory: 'folder',
  SymbolicLink: 'link',
};

/**
 * Reads a tar archive, plain or compressed by gzip or zstd, without writing anything.
 * @throws Error for a file that is no whole archive, or has anything but files, folders and symbolic links
 */
export async function* tarEntries(file: string, signal?: AbortSignal): AsyncGenerator<TarEntry> {
  let isWhole = false;
  let read: ReadEntry | undefined;
  const parser = new Parser({
    strict: true,
    maxMetaEntrySize: recordBytesMax,
    maxDecompressionRatio: Infinity,
  });
  const source = createReadStream(file, { signal });
  // Without its record, an entry would have a cut name.
  parser.on('ignoredEntry', () =>
    parser.abort(new Error(`it has a record of more than ${recordBytesMax} bytes`)),
  );
  parser.on('eof', () => {
    isWhole = true;
  });
  source.once('error', (error) => parser.abort(error));
  // The reader of the entries gets the first error; a later one must not end the process.
  parser.on('error', (error) => {
    source.destroy();
    // Its content would never end.
    read?.destroy(error);
  });
  const entries = on(parser, 'entry', { close: ['end'] });
  source.pipe(parser);
  try {
    for await (const [entry] of entries) {
      if (!(entry instanceof ReadEntry)) continue;
      read = entry.on('error', () => undefined);
      yield entryOf(entry);
      entry.resume();
    }
  } finally {
    source.destroy();
  }
  if (!isWhole) throw new Error('it ends early');
}

function entryOf(entry: ReadEntry): TarEntry {
  const { path: name, type, linkpath: target = '', size: bytes, mode = 0 } = entry;
  const kind = kinds[type];
  if (kind === undefined) throw new Error(`${name} is neither file, folder nor symbolic link`);
  return { kind, name, target, bytes, isExecutable: (mode & 0o100) !== 0, content: entry };
}
