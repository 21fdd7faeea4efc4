/** Reads tar archives, plain or compressed by gzip or zstd, without writing anything. */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';

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

const blockBytes = 512;
/** Of the records that give an entry a longer name. */
const recordBytesMax = 65_536;

const kinds: Readonly<Record<string, TarEntry['kind']>> = { '\0': 'file', 0: 'file', 5: 'folder', 2: 'link' };

/** @throws Error for a file that is no whole archive, or has anything but files, folders and symbolic links */
export async function* tarEntries(file: string, signal?: AbortSignal): AsyncGenerator<TarEntry> {
  const blocks = new Blocks(await decompressed(file, signal));
  try {
    yield* entriesOf(blocks);
  } finally {
    await blocks.close();
  }
}

async function* entriesOf(blocks: Blocks): AsyncGenerator<TarEntry> {
  let more: Readonly<Record<string, string>> = {};
  for (;;) {
    const header = await blocks.take(blockBytes);
    if (header.every((byte) => byte === 0)) return;
    checkSum(header);
    const type = header.toString('latin1', 156, 157);
    const bytes = Number(more['size'] ?? octal(header, 124, 12));
    const record = 'xgLK'.includes(type) ? await blocks.take(bytes, recordBytesMax) : undefined;
    if (record !== undefined) {
      await blocks.skip(padding(bytes));
      more = { ...more, ...recordOf(type, record) };
      continue;
    }
    const name = more['path'] ?? nameOf(header);
    const kind = kinds[type];
    if (kind === undefined) throw new Error(`${name} is neither file, folder nor symbolic link`);
    const target = more['linkpath'] ?? text(header, 157, 100);
    more = {};
    const isExecutable = (octal(header, 100, 8) & 0o100) !== 0;
    const end = blocks.at + bytes;
    yield { kind, name, target, bytes, isExecutable, content: blocks.pieces(bytes) };
    await blocks.skip(end - blocks.at + padding(bytes));
  }
}

async function decompressed(file: string, signal: AbortSignal | undefined): Promise<AsyncIterable<Buffer>> {
  const handle = await open(file);
  const { buffer } = await handle.read(Buffer.alloc(4), 0, 4, 0);
  await handle.close();
  const source = createReadStream(file, { signal });
  const magic = buffer.toString('hex');
  if (magic.startsWith('1f8b')) return pipeline(source, createGunzip(), failed);
  if (magic === '28b52ffd') return pipeline(source, createZstdDecompress(), failed);
  return source;
}

/** Readers of the stream get the error. */
const failed = () => undefined;

function checkSum(header: Buffer): void {
  const sum = header.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
  if (sum !== octal(header, 148, 8)) throw new Error('it is no tar archive');
}

/** Larger numbers have another form, which no size here needs. */
function octal(header: Buffer, from: number, length: number): number {
  const digits = text(header, from, length).trim();
  if (!/^[0-7]*$/.test(digits)) throw new Error('it is no tar archive, or has a file of more than 8 GB');
  return Number.parseInt(digits || '0', 8);
}

/** Up to the first zero byte. */
function text(header: Buffer, from: number, length: number): string {
  const [found = ''] = header.toString('utf8', from, from + length).split('\0', 1);
  return found;
}

function nameOf(header: Buffer): string {
  const name = text(header, 0, 100);
  const prefix = text(header, 257, 6) === 'ustar' && header[262] === 0 ? text(header, 345, 155) : '';
  return prefix === '' ? name : `${prefix}/${name}`;
}

/** Members for the next entry: lines of pax such as `20 path=some/name`, or a name of GNU tar. Those for all entries do not matter. */
function recordOf(type: string, record: Buffer): Record<string, string> {
  if (type === 'L') return { path: text(record, 0, record.length) };
  if (type === 'K') return { linkpath: text(record, 0, record.length) };
  if (type === 'g') return {};
  const members: Record<string, string> = {};
  for (let at = 0; at < record.length; ) {
    const [line, length = '', name = '', value = ''] =
      /^(\d{1,5}) ([^=]*)=(.*)$/s.exec(lineAt(record, at)) ?? [];
    const isMalformed = line === undefined || Number(length) === 0;
    if (isMalformed || (name === 'size' && !/^\d{1,15}$/.test(value))) {
      throw new Error('it has a malformed record');
    }
    members[name] = value;
    at += Number(length);
  }
  return members;
}

/** The line that states its own length. */
function lineAt(record: Buffer, at: number): string {
  const length = Number.parseInt(record.toString('latin1', at, at + 6), 10);
  return record.toString('utf8', at, at + length - 1);
}

function padding(bytes: number): number {
  return (blockBytes - (bytes % blockBytes)) % blockBytes;
}

/** Reads a stream in lengths of its own. */
class Blocks {
  readonly #source: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);
  /** Bytes that were read. */
  at = 0;

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async take(bytes: number, bytesMax = bytes): Promise<Buffer> {
    if (bytes > bytesMax) throw new Error(`it has a record of more than ${bytesMax} bytes`);
    const pieces: Buffer[] = [];
    for await (const piece of this.pieces(bytes)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  async skip(bytes: number): Promise<void> {
    for await (const _ of this.pieces(bytes));
  }

  async *pieces(bytes: number): AsyncGenerator<Buffer> {
    for (let missing = bytes; missing > 0; ) {
      if (this.#rest.length === 0) await this.#read();
      const piece = this.#rest.subarray(0, missing);
      this.#rest = this.#rest.subarray(piece.length);
      this.at += piece.length;
      missing -= piece.length;
      yield piece;
    }
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }

  async #read(): Promise<void> {
    const { value, done } = await this.#source.next();
    if (done) throw new Error('it ends early');
    this.#rest = value;
  }
}
