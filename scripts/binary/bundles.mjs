/** Bundles the sources and the packages that they import: one bundle for the program, and one for each worker thread. */
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { root } from '../setup/run.mjs';

const inside = fileURLToPath(new URL('inside', import.meta.url));

/**
 * Modules that read files. The executable has its own versions in `inside/`, as there are no files beside it.
 *
 * @type {Readonly<Record<string, string>>}
 */
const replacements = {
  'better-sqlite3': 'better-sqlite3.ts',
  'node:worker_threads': 'worker-threads.ts',
  'src/app/git-revision.ts': 'git-revision.ts',
  'src/media/fvad-file.ts': 'fvad-file.ts',
  'src/media/hearing-files.ts': 'hearing-files.ts',
  'src/engines/builtin/flite/wasm-file.ts': 'flite-wasm-file.ts',
  'src/engines/builtin/moonshine/runtime-file.ts': 'onnx-runtime.ts',
  'src/app/notices.ts': 'notices.ts',
  'src/app/page-files.ts': 'page-files.ts',
};

/**
 * Packages whose entries load more than is used here, by what takes their place. grpc-js loads `.proto` files for services that Parley
 * does not have.
 *
 * @type {Readonly<Record<string, string>>}
 */
const parts = {
  'rate-limiter-flexible': ['RateLimiterMemory', 'RateLimiterRes']
    .map((name) => `export { default as ${name} } from 'rate-limiter-flexible/lib/${name}.js';`)
    .join(''),
  '@grpc/proto-loader': `throw new Error('.proto files cannot be loaded.');`,
};

/** @type {import('esbuild').Plugin} */
export const partsOnly = {
  name: 'parts only',
  setup(building) {
    building.onResolve({ filter: /^(rate-limiter-flexible|@grpc\/proto-loader)$/ }, ({ path }) => ({
      path,
      namespace: 'parts',
    }));
    building.onLoad({ filter: /./, namespace: 'parts' }, ({ path }) => ({
      contents: parts[path] ?? '',
      resolveDir: root,
    }));
  },
};

/** @type {import('esbuild').BuildOptions} */
export const options = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node24.21',
  // Saves a third of size and memory. Names and lines stay, for stack traces.
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 120,
  legalComments: 'none',
  logLevel: 'warning',
};

/**
 * The bundles: the program as `main`, each worker thread by the name of its entry. Each is a function expression that
 * `boot` calls.
 *
 * @param {{ commit: string, nativeFileName: string }} facts
 * @returns {Promise<Record<string, string>>}
 */
export async function bundleAll({ commit, nativeFileName }) {
  const define = {
    'import.meta.url': JSON.stringify('inside:/'),
    builtFromCommit: JSON.stringify(commit),
    nativeFileName: JSON.stringify(nativeFileName),
  };
  const plugins = [partsOnly, fromInside, opusFromInside];
  const bundles = entries().map(async (entry) => {
    const code = await bundle({ entryPoints: [entry], format: 'cjs', define, plugins });
    return [basename(entry, '.ts'), `(function (require, module) {${code.replace(/^#!.*/, '')}\n})`];
  });
  return Object.fromEntries(await Promise.all(bundles));
}

/** The code that defines `boot.boot(name)`, which runs a bundle. */
export function bundleBoot() {
  return bundle({ entryPoints: [join(inside, 'boot.ts')], format: 'iife', globalName: 'boot' });
}

/** @param {import('esbuild').BuildOptions} settings */
async function bundle(settings) {
  // A bundle is one file, so `import()` becomes a plain require.
  const supported = { 'dynamic-import': false };
  const { outputFiles = [], warnings } = await build({ ...options, ...settings, supported, write: false });
  const [file] = outputFiles;
  if (file === undefined || warnings.length > 0) throw new Error('esbuild reported problems: see above.');
  return file.text;
}

/** The program's entry and those of worker threads, found by the calls of siblingWorker. In bundles each is known by its name alone. */
export function entries() {
  const threads = globSync('src/**/*.ts', { cwd: root })
    .sort()
    .flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      const names = [...text.matchAll(/siblingWorker\(import\.meta\.url, '([^']+)'\)/g)];
      return names.map(([, name = '']) => join(root, dirname(file), `${name}.ts`));
    });
  const names = threads.map((entry) => basename(entry));
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  if (twice.length > 0)
    throw new Error(`Two worker threads have entries of the same name: ${twice.join(', ')}.`);
  return [join(root, 'src', 'main.ts'), ...threads];
}

/** @type {import('esbuild').Plugin} */
const fromInside = {
  name: 'from inside',
  setup(building) {
    building.onResolve({ filter: /^(better-sqlite3|node:worker_threads)$/ }, ({ path, importer }) =>
      importer.startsWith(join(root, 'src')) ? { path: replacementOf(path) } : undefined,
    );
    building.onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      const own = relative(root, path);
      if (!Object.hasOwn(replacements, own)) return undefined;
      const file = replacementOf(own);
      return { contents: readFileSync(file, 'utf8'), loader: 'ts', resolveDir: inside };
    });
  },
};

/** @param {string} replaced */
function replacementOf(replaced) {
  return join(inside, replacements[replaced] ?? '');
}

/** The original reads its WebAssembly from the package's folder. */
const opusRead = "require('fs').readFileSync(require('path').join(__dirname, ";

/** @type {import('esbuild').Plugin} */
const opusFromInside = {
  name: 'opus from inside',
  setup(building) {
    building.onLoad({ filter: /\/@evan\/opus\/wasm\/index\.js$/ }, ({ path }) => {
      const parts = readFileSync(path, 'utf8').split(opusRead);
      if (parts.length !== 2) throw new Error(`${path} no longer reads its WebAssembly as expected.`);
      return { contents: parts.join("Buffer.from(require('node:sea').getRawAsset("), loader: 'js' };
    });
  },
};
