/**
 * Writes V8's cache of the compiled program: without it, compiling takes most of the start. V8 caches the functions that have
 * run, so this process starts the program and waits until it listens.
 *
 *   node --predictable --min-semi-space-size=64 scripts/binary/compile.mjs FOLDER    it holds main.js and the assets
 *
 * Both flags make the cache the same at each build: V8 writes unused bytes of memory into it, which are zero while no memory is used
 * again. V8 refuses a cache made with other flags, but not with these.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Script } from 'node:vm';
import { requireIn } from './assets-in-folder.mjs';
import { packed } from './packed.mjs';

const listensMsMax = 120_000;
const lookMs = 20;

const [, , folder = ''] = process.argv;
const script = new Script(readFileSync(join(folder, 'main.js'), 'latin1'), { filename: 'parley:main.js' });

const dataDir = mkdtempSync(join(tmpdir(), 'parley-build-'));
// Changes the folder, so that no parley.yaml of the current one is read.
process.chdir(dataDir);
process.argv = [process.execPath, process.execPath, 'serve', '--port', '0', '--data-dir', dataDir];
process.on('exit', () => rmSync(dataDir, { recursive: true }));
script.runInThisContext()(requireIn(folder), { exports: {} });
const deadlineMs = Date.now() + listensMsMax;
while (!existsSync(join(dataDir, 'server.json'))) {
  // The program failed and has printed the reason.
  if (process.exitCode !== undefined) process.exit();
  if (Date.now() > deadlineMs) throw new Error('The program did not start to listen.');
  await sleep(lookMs);
}
writeFileSync(join(folder, 'main.cache.zst'), packed(script.createCachedData()));
process.exit();
