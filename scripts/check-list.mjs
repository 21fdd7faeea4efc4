/** What is checked besides the tests. All of it together takes some seconds. */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { paths, projectEnvironment, root } from './setup/project.mjs';
import { run } from './setup/run.mjs';

/** @typedef {{ ok: boolean, output: string }} Result */
/** @typedef {{ name: string, check: () => Promise<Result> }} Check */

/** @type {readonly Check[]} */
export const checks = [
  { name: 'style (biome)', check: () => tool('biome', 'ci', '--colors=off', '.') },
  { name: 'types (tsc)', check: () => tool('tsc', '-p', 'tsconfig.test.json') },
  { name: 'build (./parley --version)', check: () => tool('sh', 'parley', '--version') },
  { name: 'schema style (buf lint)', check: () => tool('buf', 'lint') },
  {
    name: 'schema format (buf format)',
    check: () => tool('buf', 'format', '--diff', '--exit-code', '--path', 'proto/parley'),
  },
  { name: 'schema compatibility (buf breaking)', check: checkCompatibility },
  { name: 'generated code (buf generate)', check: checkGenerated },
];

/** @param {readonly string[]} command */
function tool(...command) {
  return run(command, { env: projectEnvironment() });
}

/** The schema is compared as an image, as buf cannot find the module in node_modules in an older commit. */
async function checkCompatibility() {
  const image = join(paths.notes, 'proto.binpb');
  const built = await tool('buf', 'build', '--path', 'proto/parley', '-o', image);
  if (!built.ok) return built;
  return tool('buf', 'breaking', image, '--against', 'proto/baseline.binpb', '--exclude-imports');
}

/** @returns {Promise<Result>} */
async function checkGenerated() {
  const fresh = join(paths.notes, 'generated');
  rmSync(fresh, { recursive: true, force: true });
  const generated = await tool('buf', 'generate', '-o', fresh);
  if (!generated.ok) return generated;
  const different = differences(join(root, 'gen'), join(fresh, 'gen'));
  const output = `Not what the schemas give: ${different.join(', ')}. Run \`npm run generate\` and commit gen/.`;
  return { ok: different.length === 0, output };
}

/**
 * The files that are in only one of two folders, or have other content in it.
 *
 * @param {string} one
 * @param {string} other
 */
function differences(one, other) {
  const files = new Set([one, other].flatMap((folder) => filesIn(folder)));
  return [...files].filter((file) => contentOf(join(one, file)) !== contentOf(join(other, file))).sort();
}

/** @param {string} folder @returns {string[]} */
function filesIn(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
}

/** @param {string} file */
function contentOf(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}
