/**
 * Stands for the executable while it is built: assets are files of a folder, and worker threads run on the main
 * thread, so that each build does everything in the same order.
 */
import { EventEmitter } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';
import workerThreads from 'node:worker_threads';
import { zstdDecompressSync } from 'node:zlib';

/**
 * The `require` of a bundle.
 *
 * @param {string} folder
 * @param {Readonly<Record<string, unknown>>} [own] modules in place of Node's own
 * @returns {(id: string) => unknown}
 */
export function requireIn(folder, own = {}) {
  /** @type {Readonly<Record<string, unknown>>} */
  const modules = { 'node:sea': seaIn(folder), 'node:worker_threads': threadsIn(folder), ...own };
  return (id) => modules[id] ?? process.getBuiltinModule(id);
}

/** Stands for `node:sea`. @param {string} folder */
function seaIn(folder) {
  return {
    getAssetKeys: () =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.\w+$/.test(name)),
    /** @param {string} asset */
    getRawAsset(asset) {
      const { buffer, byteOffset, byteLength } = readFileSync(join(folder, asset));
      return buffer.slice(byteOffset, byteOffset + byteLength);
    },
    getAsset: () => '',
  };
}

/** Stands for `node:worker_threads`. @param {string} folder */
function threadsIn(folder) {
  class Worker extends EventEmitter {
    #port = new EventEmitter();

    /**
     * @param {string} code ends with the name of the bundle: `boot.boot("name");`
     * @param {{ workerData?: unknown }} options
     */
    constructor(code, { workerData }) {
      super();
      const [, name = ''] = /boot\.boot\("(.*)"\);$/.exec(code) ?? [];
      const parentPort = Object.assign(this.#port, {
        /** @param {unknown} message */
        postMessage: (message) => setImmediate(() => this.emit('message', structuredClone(message))),
        close: () => setImmediate(() => this.emit('exit', 0)),
      });
      const source = zstdDecompressSync(readFileSync(join(folder, `${name}.js.zst`))).toString('latin1');
      const bundle = new Script(source, { filename: `parley:${name}.js` }).runInThisContext();
      const threads = { ...workerThreads, parentPort, workerData, isMainThread: false };
      bundle(requireIn(folder, { 'node:worker_threads': threads }), { exports: {} });
    }

    /** @param {unknown} message */
    postMessage(message) {
      setImmediate(() => this.#port.emit('message', structuredClone(message)));
    }

    ref() {}

    unref() {}

    async terminate() {}
  }
  return { ...workerThreads, Worker };
}
