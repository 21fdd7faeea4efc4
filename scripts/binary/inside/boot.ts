/** The first code of every thread in the executable. It runs one of the bundles inside. */
import { getRawAsset } from 'node:sea';
import { Script } from 'node:vm';
import { zstdDecompressSync } from 'node:zlib';

/** What a bundle is, so that it finds what a CommonJS module finds. */
type Bundle = (require: (id: string) => object, module: { exports: object }) => void;

/**
 * @param name `main`, or the name of a thread's entry
 * @param cache the asset with V8's cache of the bundle; only the program has one, as it does not pay for the threads
 */
export function boot(name: string, cache?: string): void {
  const source = unpacked(`${name}.js.zst`).toString('latin1');
  const cachedData = cache === undefined ? undefined : unpacked(cache);
  const run: Bundle = new Script(source, { filename: `parley:${name}.js`, cachedData }).runInThisContext();
  run(requireBuiltin, { exports: {} });
}

/** Whatever is not Node's own is inside the bundle: nothing is looked for in folders. */
function requireBuiltin(id: string): object {
  const module = process.getBuiltinModule(id);
  if (module === undefined) throw new Error(`The executable has no ${id}.`);
  return module;
}

/** More than any has. It is unpacked in one piece: many small ones would stay with the allocator when they are free. */
const unpackedBytesMax = 32 * 1024 ** 2;

function unpacked(asset: string): Buffer {
  return zstdDecompressSync(Buffer.from(getRawAsset(asset)), { chunkSize: unpackedBytesMax });
}
