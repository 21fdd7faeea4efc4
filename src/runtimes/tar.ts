/** Reads tar archives, plain or compressed by gzip or zstd, without writing anything. */
import { on } from 'node:events';
import { createReadStream } from 'node:fs';
import { Parser, ReadEntry } from 'tar';

export interface TarEntry {
  readonly kind: 'file' | 'folder' | 'link';
  /** As the archive has it. */
  readonly name: string;
  /** Of a link. */
  readonly target: string;
  readonly bytes: number;
  readonly isExecutable: boolean;
  /** The bytes of a file. To be read at most once, before the next entry. */
  readonly content: AsyncIterable<Buffer>;
}

/** Of the records that give an entry a longer name. */
const recordBytesMax = 65_536;

const kinds: Readonly<Record<string, TarEntry['kind']>> = {
  File: 'file',
  OldFile: 'file',
  Directory: 'folder',
  SymbolicLink: 'link',
};

/** @throws Error for a file that is no whole archive, or has anything but files, folders and symbolic links */
export async function* tarEntries(file: string, signal?: AbortSignal): AsyncGenerator<TarEntry> {
  let isWhole = false;
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
  parser.on('error', () => source.destroy());
  const entries = on(parser, 'entry', { close: ['end'] });
  source.pipe(parser);
  try {
    for await (const [entry] of entries) {
      if (!(entry instanceof ReadEntry)) continue;
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
