/** Packs files as a tar archive. Equal files give equal bytes. */

const blockBytes = 512;

/** @param {Readonly<Record<string, Buffer>>} files by their paths, of at most 100 bytes */
export function tar(files) {
  const parts = Object.entries(files).flatMap(([path, content]) => [
    head(path, content.length),
    content,
    Buffer.alloc(-content.length & (blockBytes - 1)),
  ]);
  return Buffer.concat([...parts, Buffer.alloc(2 * blockBytes)]);
}

/** The header of a file in the format ustar (POSIX.1-1988). @param {string} path @param {number} bytes */
function head(path, bytes) {
  if (Buffer.byteLength(path) > 100) throw new Error(`${path} is too long for the archive.`);
  const block = Buffer.alloc(blockBytes);
  /** @param {number} value @param {number} digits */
  const octal = (value, digits) => value.toString(8).padStart(digits, '0');
  block.write(path, 0);
  block.write(`${octal(0o644, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0`, 100);
  block.write(`${octal(bytes, 11)}\0${octal(0, 11)}\0        0`, 124);
  block.write('ustar\x0000', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148);
  return block;
}
