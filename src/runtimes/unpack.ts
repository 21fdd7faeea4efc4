/** Unpacks an archive into a folder, after every entry was checked. */
import { createWriteStream, lstatSync, mkdirSync, symlinkSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { requireSpace } from '../files/folders.ts';
import { isZip, type TarEntry, tarEntries } from '../models/archive.ts';

const entriesMax = 10_000;
const unpackedBytesMax = 4 * 1024 ** 3;

/**
 * Leaves out the first folder, whose name has a version. Nothing is written outside of `into`, and nothing through a link:
 * links are made last.
 * @throws Error that says what is wrong with the archive
 */
export async function unpack(file: string, into: string, signal?: AbortSignal): Promise<void> {
  const links: { readonly path: string; readonly target: string }[] = [];
  let [entries, bytes] = [0, 0];
  if (await isZip(file))
    throw new Error('it is a zip archive. Unpack it, and make a tar archive of its folder');
  for await (const entry of tarEntries(file, signal)) {
    if (++entries > entriesMax) throw new Error(`it has more than ${entriesMax} entries`);
    const path = placeOf(entry.name, into);
    if (path === undefined) continue;
    requireSpace(into, entry.bytes);
    bytes += entry.bytes;
    if (bytes > unpackedBytesMax) throw new Error(`it unpacks to more than ${unpackedBytesMax} bytes`);
    if (entry.kind === 'link') links.push({ path, target: entry.target });
    else await write(entry, path, signal);
  }
  for (const { path, target } of links) {
    if (isAbsolute(target) || isOutside(into, join(dirname(path), target))) throw leadsOut(path, into);
    if (turnsBack(target) || passesLink(into, path)) throw leadsThrough(path, into);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    symlinkSync(target, path);
  }
  // A link that was made later may be on the way to a target.
  for (const { path, target } of links)
    if (passesLink(into, join(dirname(path), target))) throw leadsThrough(path, into);
}

async function write(
  { kind, content, isExecutable }: TarEntry,
  path: string,
  signal?: AbortSignal,
): Promise<void> {
  mkdirSync(kind === 'folder' ? path : dirname(path), { recursive: true, mode: 0o700 });
  if (kind === 'folder') return;
  const file = createWriteStream(path, { flags: 'wx', mode: isExecutable ? 0o755 : 0o644 });
  await pipeline(content, file, { signal });
}

/** Undefined for what is not below the first folder. */
function placeOf(name: string, into: string): string | undefined {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (isAbsolute(name) || parts.includes('..')) throw new Error(`${name} leads out of its folder`);
  return parts.length < 2 ? undefined : join(into, ...parts.slice(1));
}

function isOutside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === '..' || way.startsWith('../');
}

/** Whether the target goes up after it went down: behind a link that would lead elsewhere than its text. */
function turnsBack(target: string): boolean {
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const down = parts.findIndex((part) => part !== '..');
  return down >= 0 && parts.includes('..', down);
}

/** Whether a folder on the way to the path is a link. */
function passesLink(folder: string, path: string): boolean {
  const parts = relative(folder, path).split(sep).slice(0, -1);
  return parts.some((_, at) => {
    const on = join(folder, ...parts.slice(0, at + 1));
    return lstatSync(on, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  });
}

function leadsThrough(path: string, into: string): Error {
  return new Error(`${relative(into, path)} leads through another link`);
}

function leadsOut(path: string, into: string): Error {
  return new Error(`${relative(into, path)} leads out of its folder`);
}
