/** Stands for `node:sea` while the executable is built: the assets are files of a folder. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import { zstdDecompressSync } from 'node:zlib';

/** @param {string} folder */
function seaIn(folder) {
  return {
    getAssetKeys: () =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.\w+$/.test(name)),
    /** @param {string} asset */
    getRawAsset(asset) {
      const { buffer, byteOffset, byteLength } = readFileSync(join(folder, asset));
      return buffer.slice(byteOffset, byteOffset + byteLength);
    },
    /** The code with which a worker thread begins: it defines `boot`. */
    getAsset() {
      const [here, where] = [fileURLToPath(import.meta.url), folder].map((text) => JSON.stringify(text));
      return `const boot = { boot: (name) => require(${here}).runWorker(${where}, name) };`;
    },
  };
}

/**
 * The `require` of a bundle.
 *
 * @param {string} folder
 * @returns {(id: string) => unknown}
 */
export function requireIn(folder) {
  const sea = seaIn(folder);
  return (id) => (id === 'node:sea' ? sea : process.getBuiltinModule(id));
}

/**
 * Runs the bundle of a worker thread.
 *
 * @param {string} folder
 * @param {string} name
 */
export function runWorker(folder, name) {
  const source = zstdDecompressSync(readFileSync(join(folder, `${name}.js.zst`))).toString('latin1');
  new Script(source, { filename: `parley:${name}.js` }).runInThisContext()(requireIn(folder), {
    exports: {},
  });
}
