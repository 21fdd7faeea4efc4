/**
 * Writes V8's cache of the program's compiled code; without, compiling would be most of the time to start. It is a process of
 * its own, as V8 keeps what has run: here the program, up to the moment in which it listens.
 *
 *   node --predictable scripts/binary/compile.mjs FOLDER    with main.js and the assets in it
 *
 * The flag makes the cache the same at each build, and unlike others is no reason for V8 to refuse it later.
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

/** As `node:sea` has them in the executable. */
const sea = {
  /** @param {string} asset */
  getRawAsset(asset) {
    const { buffer, byteOffset, byteLength } = readFileSync(join(folder, asset));
    return buffer.slice(byteOffset, byteOffset + byteLength);
  },
};

/** @param {string} id */
function requireBuiltin(id) {
  return id === 'node:sea' ? sea : process.getBuiltinModule(id);
}

const dataDir = mkdtempSync(join(tmpdir(), 'parley-build-'));
// A parley.yaml where the build was started is none of its business.
process.chdir(dataDir);
process.argv = [process.execPath, process.execPath, 'serve', '--port', '0', '--data-dir', dataDir];
process.on('exit', () => rmSync(dataDir, { recursive: true }));
script.runInThisContext()(requireBuiltin, { exports: {} });
const deadlineMs = Date.now() + listensMsMax;
while (!existsSync(join(dataDir, 'server.json'))) {
  // It has failed, and has said why.
  if (process.exitCode !== undefined) process.exit();
  if (Date.now() > deadlineMs) throw new Error('The program did not begin to listen.');
  await sleep(lookMs);
}
writeFileSync(join(folder, 'main.cache.zst'), packed(script.createCachedData()));
process.exit();
