/**
 * Replaces src/media/hearing-files.ts in the executable, which contains the files. Each is unpacked into memory when it is
 * used.
 */
import { getAssetKeys, getRawAsset } from 'node:sea';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createZstdDecompress, zstdDecompress, zstdDecompressSync } from 'node:zlib';

/** The image is unpacked in parts of this size, so that memory never holds it twice. */
const partBytes = 1024 ** 2;
/** Larger than a module, so that zlib unpacks it into one buffer. */
const moduleBytesMax = 4 * 1024 ** 2;
const moonshineBytesMax = 32 * 1024 ** 2;
const moonshine = 'moonshine/';

export function missingHearing(): string | undefined {
  return undefined;
}

export function hasMoonshine(): boolean {
  return getAssetKeys().some((name) => name.startsWith(moonshine));
}

export function readMoonshine(name: string): Promise<Uint8Array<ArrayBuffer>> {
  return promisify(zstdDecompress)(asset(`${moonshine}${name}.zst`), { chunkSize: moonshineBytesMax });
}

export function readExtra(name: 'resampler' | 'lame'): Uint8Array<ArrayBuffer> {
  return zstdDecompressSync(asset(`${name}.wasm.zst`), { chunkSize: moduleBytesMax });
}

export function readModule(name: 'decoder' | 'recogniser'): Promise<Uint8Array<ArrayBuffer>> {
  return promisify(zstdDecompress)(asset(`${name}.wasm.zst`), { chunkSize: moduleBytesMax });
}

export function readRecogniserImage(): AsyncIterable<Uint8Array> {
  const unpacking = createZstdDecompress({ chunkSize: partBytes });
  return Readable.from([asset('recogniser.image.zst')]).pipe(unpacking);
}

/** A view of the executable in memory. */
function asset(name: string): Buffer {
  return Buffer.from(getRawAsset(name));
}
