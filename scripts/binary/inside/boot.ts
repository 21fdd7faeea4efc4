/** The first code of the main thread and of every worker thread in the executable. It runs one of the bundles. */
import { existsSync, fstatSync } from 'node:fs';
import { getRawAsset } from 'node:sea';
import { Script } from 'node:vm';
import { zstdDecompressSync } from 'node:zlib';

/** A bundle is a function with the parameters of a CommonJS module. */
type Bundle = (require: (id: string) => object, module: { exports: object }) => void;

/**
 * @param name `main`, or the name of a worker thread's entry
 * @param cache the asset with V8's code cache; only the program has one, as worker threads would gain little
 */
export function boot(name: string, cache?: string): void {
  if (name === 'main' && process.argv[2] === 'serve') returnFreedMemory();
  const source = unpacked(`${name}.js.zst`).toString('latin1');
  const cachedData = cache === undefined ? undefined : unpacked(cache);
  const run: Bundle = new Script(source, { filename: `parley:${name}.js`, cachedData }).runInThisContext();
  run(requireBuiltin, { exports: {} });
}

/**
 * Starts the process again with a setting that glibc reads at the start only. By default glibc keeps up to 64 MB of freed
 * memory in each of its arenas once a large block, such as flite, was freed: 30 MB after little use.
 */
function returnFreedMemory(): void {
  const name = 'MALLOC_TRIM_THRESHOLD_';
  // Without /proc the path may not exist, and a failed `execve` aborts.
  if (process.env[name] !== undefined || process.execve === undefined || !existsSync(process.execPath))
    return;
  if (inheritsDescriptors()) return;
  const args = [process.execPath, ...process.argv.slice(2)];
  process.execve(process.execPath, args, { ...process.env, [name]: '131072' });
}

/** Node makes `execve` close low descriptors, also those that it inherited. The copy gets a number above all of Node's own. */
const lowFds = Array.from({ length: 29 }, (_, index) => index + 3);

/** Whether this process inherited a socket, a file or a pipe, which would be lost at its second start. */
function inheritsDescriptors(): boolean {
  const stats = lowFds.flatMap((fd) => {
    try {
      return [fstatSync(fd)];
    } catch {
      return [];
    }
  });
  if (stats.some((one) => one.isFile() || one.isSocket())) return true;
  // Node has both ends of each of its own pipes.
  return stats.some((pipe) => pipe.isFIFO() && stats.filter(({ ino }) => ino === pipe.ino).length === 1);
}

/** Bundles contain everything except Node's own modules, so nothing is searched in folders. */
function requireBuiltin(id: string): object {
  const module = process.getBuiltinModule(id);
  if (module === undefined) throw new Error(`The executable has no ${id}.`);
  return module;
}

/** Larger than any asset, so that zlib unpacks into one buffer: the allocator would keep many small ones. */
const unpackedBytesMax = 32 * 1024 ** 2;

function unpacked(asset: string): Buffer {
  return zstdDecompressSync(Buffer.from(getRawAsset(asset)), { chunkSize: unpackedBytesMax });
}
