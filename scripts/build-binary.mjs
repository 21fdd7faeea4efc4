/**
 * `npm run build:binary`: builds one executable with everything inside (docs/binary.md). One commit always gives the same bytes.
 *
 *   node scripts/build-binary.mjs [FILE] [ARCH]      release/parley for this machine by default
 */
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assets, nativeCode } from './binary/assets.mjs';
import { bundleAll, bundleBoot } from './binary/bundles.mjs';
import { makeExecutable, tool } from './binary/executable.mjs';
import { provideRecogniser } from './binary/hearing.mjs';
import { packed } from './binary/packed.mjs';
import { targetFor } from './binary/target.mjs';
import { consoleFiles } from './console/files.mjs';
import { root, run, SetupFailure, say } from './setup/run.mjs';
import { doStep } from './setup/steps.mjs';

const compiler = fileURLToPath(new URL('binary/compile.mjs', import.meta.url));

/** The git revision of this clone, with `-dirty` at its end if files differ from it. */
async function gitRevision() {
  const { ok, output } = await run(['git', 'describe', '--always', '--abbrev=40', '--exclude=*', '--dirty']);
  return ok ? output : 'unknown';
}

const steps = 4;

/**
 * Prints the step with its time, and a line now and then while it runs.
 *
 * @template Result
 * @param {number} at @param {string} doing @param {() => Promise<Result>} work @returns {Promise<Result>}
 */
async function step(at, doing, work) {
  const started = performance.now();
  const progress = () => `${Math.round((performance.now() - started) / 1000)} s so far`;
  /** @type {Result[]} */
  const results = [];
  const keep = async () => void results.push(await work());
  await doStep({ doing: `${at} of ${steps}: ${doing}`, work: keep, progress }, undefined);
  return /** @type {Result} */ (results[0]);
}

/** Writes the assets of the executable to a folder and returns their names. @param {string} folder @param {import('./binary/target.mjs').Target} target */
async function writeAssets(folder, target) {
  const commit = await gitRevision();
  const { boot, bundles, pages } = await step(1, 'Bundling the program and its pages', async () => ({
    bundles: await bundleAll({ commit, nativeFileName: nativeCode(target).name }),
    boot: await bundleBoot(),
    pages: Object.entries(await consoleFiles()).map(([path, content]) => [`console/${path}`, content]),
  }));
  const files = await step(2, 'Packing it with its models and modules', async () => ({
    ...assets(target),
    ...Object.fromEntries(pages),
    'boot.js': boot,
    ...Object.fromEntries(Object.entries(bundles).map(([name, code]) => [`${name}.js.zst`, packed(code)])),
  }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  writeFileSync(join(folder, 'start.js'), `${boot}\nboot.boot('main', 'main.cache.zst');\n`);
  writeFileSync(join(folder, 'main.js'), bundles['main'] ?? '');
  await step(3, 'Running it once, for the cache of compiled code', () =>
    tool(folder, ...target.run, '--predictable', '--min-semi-space-size=64', compiler, folder),
  );
  return [...Object.keys(files), 'main.cache.zst'].sort();
}

/** @param {string} output @param {string} [arch] */
async function buildBinary(output, arch) {
  if (process.platform !== 'linux') throw new SetupFailure('The executable can be built on Linux only.');
  const target = await targetFor(arch);
  await provideRecogniser();
  mkdirSync(dirname(output), { recursive: true });
  // Not beside the output: what the program finds above its folder as it runs decides what V8 caches.
  const folder = mkdtempSync(join(tmpdir(), 'parley-binary-'));
  try {
    const parts = { folder, main: 'start.js', assets: await writeAssets(folder, target), output, target };
    await step(4, 'Putting it into a copy of Node', () => makeExecutable(parts));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  say(`${output} (${(statSync(output).size / 1e6).toFixed(1)} MB)`);
}

try {
  await buildBinary(resolve(process.argv[2] ?? join(root, 'release', 'parley')), process.argv[3]);
} catch (error) {
  if (!(error instanceof SetupFailure)) throw error;
  say(error.message);
  process.exitCode = 1;
}
