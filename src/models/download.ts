/** Brings one file to a partial file: resumed by ranges, tried again, and hashed as a whole. */
import { createHash } from 'node:crypto';
import { createReadStream, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  archivedBytes,
  type ComposedOptions,
  openComposed,
  removeArchives,
  type Url,
} from './composed-source.ts';
import { ModelError } from './manifest.ts';
import { sizeOf } from './model-store.ts';
import { SourceFailed } from './source.ts';

/** Tries of the last URL in a row that each bring less than `progressBytes`. The others have one, as the next URL may do. */
const triesMax = 5;
const progressBytes = 1_048_576;
const retryMsByDefault = 1_000;

export interface Wanted {
  readonly name: string;
  readonly bytes: number;
  readonly urls: readonly Url[];
  /** Default: whatever the source sends. */
  readonly sha256?: string | undefined;
  /** Needed to resume a file whose hash is not known. */
  readonly validator?: string | undefined;
}

export interface DownloadOptions extends ComposedOptions {
  /** The pause before the second try, doubled for each further one. Default: 1 second */
  readonly retryMs?: number | undefined;
  /** @param bytes of this file that are on disk */
  readonly onProgress?: ((name: string, bytes: number, bytesTotal: number) => void) | undefined;
}

/**
 * @returns the SHA-256 of the partial file, which is whole and synced
 * @throws ModelError with the reason of each URL. What has arrived stays in the partial file, unless its content is wrong.
 */
export async function download(wanted: Wanted, partial: string, options: DownloadOptions): Promise<string> {
  const failures: ModelError[] = [];
  for (const [at, url] of wanted.urls.entries()) {
    try {
      const isLast = at === wanted.urls.length - 1;
      return await downloadFrom(url, wanted, partial, options, isLast ? triesMax : 1);
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      failures.push(error);
    }
  }
  const reasons = failures.map(({ message }) => `\n  ${message}`);
  throw new ModelError(`${wanted.name} cannot be brought:${reasons.join('')}`, failures[0]);
}

async function downloadFrom(
  url: Url,
  wanted: Wanted,
  partial: string,
  options: DownloadOptions,
  tries: number,
): Promise<string> {
  const { retryMs = retryMsByDefault, signal } = options;
  let left = tries;
  const arrived = () => (sizeOf(partial) ?? 0) + archivedBytes(url, options);
  let best = arrived();
  for (;;) {
    const hadArchive = archivedBytes(url, options) > 0;
    try {
      const offset = await append(url, wanted, partial, options);
      const sha256 = await hashOf(partial, signal);
      if (wanted.sha256 === undefined || sha256 === wanted.sha256) return sha256;
      rmSync(partial);
      removeArchives(url, options);
      const message = `${url} sends another file than ${wanted.name}: its SHA-256 is ${sha256}.`;
      // The part that was there may be of another version.
      throw new (offset > 0 ? SourceFailed : ModelError)(message);
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      if (!(error instanceof SourceFailed)) {
        removeArchives(url, options);
        // So may the archive.
        if (!hadArchive) throw error;
      }
      const bytes = arrived();
      left = bytes >= best + progressBytes ? tries : left - 1;
      best = Math.max(best, bytes);
      if (left === 0) throw error;
      await sleep(retryMs * 2 ** Math.max(0, tries - left - 1), undefined, { signal });
    }
  }
}

/** @returns how many bytes were there before */
async function append(url: Url, wanted: Wanted, partial: string, options: DownloadOptions): Promise<number> {
  const { sha256, validator, bytes, name } = wanted;
  const isResumable = sha256 !== undefined || validator !== undefined;
  const present = sizeOf(partial) ?? 0;
  const offset = isResumable && present <= bytes ? present : 0;
  if (offset === bytes && present > 0) return offset;
  const source = await openComposed(url, options, offset, validator);
  let at = source.offset;
  try {
    if (source.bytes !== undefined && source.bytes !== bytes) throw wrongSize(url, wanted, source.bytes);
    const handle = await open(partial, at === 0 ? 'w' : 'a', 0o600);
    try {
      for await (const chunk of source.body) {
        at += chunk.length;
        if (at > bytes) throw wrongSize(url, wanted, at);
        await handle.appendFile(chunk);
        options.onProgress?.(name, at, bytes);
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
  } finally {
    source.close();
  }
  if (at < bytes) throw new SourceFailed(`${url} ends after ${at} of ${bytes} bytes.`);
  return source.offset;
}

function wrongSize(url: Url, { name, bytes }: Wanted, found: number): ModelError {
  const size = found > bytes ? `more than ${bytes}` : found;
  return new ModelError(`${url} sends another file than ${name}: it has ${size} bytes instead of ${bytes}.`);
}

/** In hexadecimal digits. */
export async function hashOf(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: progressBytes, signal }))
    hash.update(chunk);
  return hash.digest('hex');
}
