/** For the executable: flite lies inside, compressed, as it would be a seventh of the whole. */
import { getRawAsset } from 'node:sea';
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';

/** More than it has, so that it is unpacked in one piece. */
const unpackedBytesMax = 32 * 1024 ** 2;

export function readFlite(): Promise<Uint8Array<ArrayBuffer>> {
  return promisify(zstdDecompress)(Buffer.from(getRawAsset('flite.wasm.zst')), {
    chunkSize: unpackedBytesMax,
  });
}
