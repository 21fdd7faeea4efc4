/**
 * Writes V8's cache of the compiled program: without it, compiling takes most of the start. V8 caches the functions that have
 * run, so this process starts the program and waits until it listens.
 *
 *   node --predictable scripts/binary/compile.mjs FOLDER    it holds main.js and the assets
 *
 * --predictable makes the cache the same at each build. V8 refuses a cache made with other flags, but not with this one.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Script } from 'node:vm';
import { packed } from './packed.mjs';

const listensMsMax = 120_000;
const lookMs = 20;

const [, , folder = ''] = process.argv;
const script = new Script(readFileSync(join(folder, 'main.js'), 'latin1'), { filename: 'parley:main.js' });

/**
 * Stands for `node:sea` in the executable. Threads get its text.
 *
 * @param {string} folder
 */
function standIn(folder) {
  const { readdirSync, readFileSync } = process.getBuiltinModule('node:fs');
  const { join } = process.getBuiltinModule('node:path');
  return {
    getAssetKeys: () =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.\w+$/.test(name)),
    /** @param {string} asset */
    getRawAsset(asset) {
      const { buffer, byteOffset, byteLength } = readFileSync(join(folder, asset));
      return buffer.slice(byteOffset, byteOffset + byteLength);
    },
    /** @param {string} asset */
    getAsset: (asset) => readFileSync(join(folder, asset), 'utf8'),
  };
}

const sea = {
  ...standIn(folder),
  /** The first code of a thread, which finds the stand-in there. @param {string} asset */
  getAsset: (asset) => `{
    const sea = (${standIn})(${JSON.stringify(folder)});
    const { getBuiltinModule } = process;
    process.getBuiltinModule = (id) => (id === 'node:sea' ? sea : getBuiltinModule(id));
    globalThis.require = process.getBuiltinModule;
  }
  ${readFileSync(join(folder, asset), 'utf8')}`,
};

/** @param {string} id */
function requireBuiltin(id) {
  return id === 'node:sea' ? sea : process.getBuiltinModule(id);
}

const dataDir = mkdtempSync(join(tmpdir(), 'parley-build-'));
// Away from a parley.yaml in the current folder.
process.chdir(dataDir);
process.argv = [process.execPath, process.execPath, 'serve', '--port', '0', '--data-dir', dataDir];
process.on('exit', () => rmSync(dataDir, { recursive: true }));
script.runInThisContext()(requireBuiltin, { exports: {} });
const deadlineMs = Date.now() + listensMsMax;
while (!existsSync(join(dataDir, 'server.json'))) {
  // The program failed, and printed why.
  if (process.exitCode !== undefined) process.exit();
  if (Date.now() > deadlineMs) throw new Error('The program did not begin to listen.');
  await sleep(lookMs);
}
writeFileSync(join(folder, 'main.cache.zst'), packed(script.createCachedData()));
process.exit();
