import { constants, zstdCompressSync } from 'node:zlib';

/** Beyond it, flite would take half a minute where it takes 2 seconds, for a twentieth less of size. */
const compressionLevel = 9;

/**
 * Compressed by Zstandard, which unpacks some hundred megabytes a second.
 *
 * @param {Buffer | string} content
 */
export function packed(content) {
  return zstdCompressSync(content, { params: { [constants.ZSTD_c_compressionLevel]: compressionLevel } });
}
