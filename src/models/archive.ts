/** Takes single files out of archives: zip, as wheels are, and tar, plain or compressed by gzip, as npm has packages. */
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdtemp, open } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { createInflateRaw } from 'node:zlib';
import { ModelError } from './manifest.ts';

/** The end of a zip archive has at most 22 bytes and a comment. */
const zipEndBytesMax = 22 + 65_535;
const [endMark, entryMark] = [Buffer.from('PK\x05\x06'), 0x02014b50];
const deflated = 8;

/**
 * @param folder is removed with the archive
 * @throws ModelError if the archive has no such file
 */
export async function openMember(archive: string, member: string, folder: string): Promise<Readable> {
  const found = (await isZip(archive)) ? await inZip(archive, member) : await inTar(archive, member, folder);
  if (found !== undefined) return found;
  throw new ModelError(`The archive has no file ${member}.`);
}

export async function isZip(path: string): Promise<boolean> {
  const file = await open(path);
  const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0).finally(() => file.close());
  return buffer.toString('latin1') === 'PK';
}

async function inTar(archive: string, member: string, folder: string): Promise<Readable | undefined> {
  const { extract } = await import('tar');
  const cwd = await mkdtemp(join(folder, 'member-'));
  let isThere = false;
  const filter = (name: string) => name === member;
  const onReadEntry = ({ type }: { readonly type: string }) => {
    isThere ||= type === 'File';
  };
  await extract({ file: archive, cwd, strict: true, filter, onReadEntry });
  return isThere ? createReadStream(join(cwd, member)) : undefined;
}

async function inZip(archive: string, member: string): Promise<Readable | undefined> {
  const file = await open(archive);
  try {
    const entry = (await entriesOf(file)).get(member);
    if (entry === undefined) return undefined;
    if (entry.bytes === 0) return Readable.from([]);
    const head = await readAt(file, entry.at, 30);
    const start = entry.at + 30 + head.readUInt16LE(26) + head.readUInt16LE(28);
    const bytes = createReadStream(archive, { start, end: start + entry.bytes - 1 });
    return entry.isDeflated ? pipeline(bytes, createInflateRaw(), () => undefined) : bytes;
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
