/** Replaces the file of flite in the executable. It is compressed: uncompressed it would be a seventh of the executable. */
import { getRawAsset } from 'node:sea';
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';

/** Larger than flite, so that zlib unpacks it into one buffer. */
const unpackedBytesMax = 32 * 1024 ** 2;

export function readFlite(): Promise<Uint8Array<ArrayBuffer>> {
  return promisify(zstdDecompress)(Buffer.from(getRawAsset('flite.wasm.zst')), {
    chunkSize: unpackedBytesMax,
  });
}
