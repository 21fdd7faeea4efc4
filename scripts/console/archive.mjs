/** Packs files as a tar archive. Equal files give equal bytes. */
import { Header } from 'tar';

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

/** @param {string} path @param {number} size */
function head(path, size) {
  const header = new Header({ path, size, type: 'File', mode: 0o644, uid: 0, gid: 0, mtime: new Date(0) });
  if (header.encode()) throw new Error(`${path} does not fit into the header of an archive.`);
  return header.block ?? Buffer.alloc(0);
}
