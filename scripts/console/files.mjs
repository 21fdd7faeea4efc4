/** The files that a server hands to browsers: pages with their bundles, the API's documents, and the schemas. */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { root } from '../setup/run.mjs';
import { tar } from './archive.mjs';
import { docsPages } from './docs-pages.ts';

/** Compressing a smaller file would not save a packet. */
const compressedFromBytes = 1_400;
const compressible = /\.(html|js|css|json|proto|svg|yaml)$/;

/**
 * Files by their paths on the server. Larger ones also have a compressed copy, with the suffix `.gz`.
 *
 * @returns {Promise<Record<string, Buffer>>}
 */
export async function consoleFiles() {
  const schemas = schemaFiles();
  const protos = Object.entries(schemas).map(([path, content]) => [`docs/proto/${path}`, content]);
  const docs = await bundled('docs', 'docs');
  const files = {
    'api/v1/openapi.json': compactJson('reference/openapi.json'),
    'docs/rpcs.json': compactJson('reference/rpcs.json'),
    'docs/parley-proto.tar.gz': schemaArchive(),
    ...Object.fromEntries(protos),
    ...docs,
    ...docsPages(String(docs['docs/index.html'])),
    ...(await bundled('app', 'console')),
  };
  const compressed = Object.entries(files)
    .filter(([path, { length }]) => compressible.test(path) && length >= compressedFromBytes)
    .map(([path, content]) => [`${path}.gz`, gzipSync(content, { level: 9 })]);
  return { ...files, ...Object.fromEntries(compressed) };
}

export function schemaArchive() {
  return gzipSync(tar(schemaFiles()), { level: 9 });
}

/** @param {string} file */
function compactJson(file) {
  return Buffer.from(JSON.stringify(JSON.parse(readFileSync(join(root, file), 'utf8'))));
}

/** Parley's schemas, and those of Google that they import or that errors have, which protoc does not include. @returns {Record<string, Buffer>} */
function schemaFiles() {
  const cwd = join(root, 'proto');
  const files = [
    ...globSync('parley/**/*.proto', { cwd }).sort(),
    ...globSync('google/{api,rpc}/*.proto', { cwd }).sort(),
  ];
  return Object.fromEntries(files.map((path) => [path, readFileSync(join(cwd, path))]));
}

/**
 * A page with its bundle. The names of the bundle's files contain a hash of their content. Parts that the page loads later are
 * separate files.
 *
 * @param {string} source folder in `console/`
 * @param {string} path on the server
 * @returns {Promise<Record<string, Buffer>>}
 */
async function bundled(source, path) {
  const folder = `console/${source}`;
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [`${folder}/main.tsx`, `${folder}/${path}.css`, 'console/icon.svg'],
    outdir: `${path}/assets`,
    outbase: folder,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    // Scripts for the audio thread are loaded by their addresses, and are not part of the bundle.
    loader: { '.svg': 'copy', '.worklet.js': 'file' },
    publicPath: `/${path}/assets`,
    bundle: true,
    splitting: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
  const files = Object.fromEntries(
    outputFiles.map((file) => [`${path}/assets/${basename(file.path)}`, Buffer.from(file.contents)]),
  );
  const names = Object.keys(files);
  const page = readFileSync(join(root, folder, 'index.html'), 'utf8');
  const html = page.replace(/%(\w+)\.(\w+)%/g, (_, name, kind) => {
    const file = names.find((one) => one.startsWith(`${path}/assets/${name}-`) && one.endsWith(`.${kind}`));
    if (file === undefined) throw new Error(`the bundle has no ${name}.${kind}`);
    return `/${file}`;
  });
  return { ...files, [`${path}/index.html`]: Buffer.from(html) };
}
