/** The checks besides the tests. Together they take some seconds. */
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './setup/run.mjs';
import { notes } from './setup/steps.mjs';

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

/**
 * @param {string} program on PATH, where npm puts the tools first
 * @param {string[]} args
 * @returns {Promise<Result>}
 */
function tool(program, ...args) {
  return new Promise((resolve) => {
    execFile(program, args, { cwd: root, maxBuffer: Number.POSITIVE_INFINITY }, (error, stdout, stderr) => {
      resolve({ ok: error === null, output: `${stdout}${stderr}`.trim() || (error?.message ?? '') });
    });
  });
}

/** Compares images, as buf cannot find the module in node_modules in an older commit. */
async function checkCompatibility() {
  const image = join(notes, 'proto.binpb');
  const built = await tool('buf', 'build', '--path', 'proto/parley', '-o', image);
  if (!built.ok) return built;
  return tool('buf', 'breaking', image, '--against', 'proto/baseline.binpb', '--exclude-imports');
}

/** @returns {Promise<Result>} */
async function checkGenerated() {
  const fresh = join(notes, 'generated');
  rmSync(fresh, { recursive: true, force: true });
  const generated = await tool('buf', 'generate', '-o', fresh);
  if (!generated.ok) return generated;
  const { ok, output } = await tool('diff', '-rq', 'gen', join(fresh, 'gen'));
  return { ok, output: `gen/ is out of date: run \`npm run generate\` and commit gen/.\n${output}` };
}
