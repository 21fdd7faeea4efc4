/** The checks besides the tests. npm puts the tools first on PATH. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './setup/run.mjs';
import { notes } from './setup/steps.mjs';

/** @typedef {{ ok: boolean, output: string }} Result */
/** @typedef {{ name: string, check: () => Promise<Result> }} Check */

/** Tests start what it builds. @type {Check} */
export const build = { name: 'build (./parley --version)', check: () => run(['sh', 'parley', '--version']) };

/** @type {readonly Check[]} */
export const checks = [
  { name: 'style (biome)', check: () => run(['biome', 'ci', '--colors=off', '.']) },
  { name: 'types (tsc)', check: () => run(['tsc', '-p', 'tsconfig.test.json']) },
  { name: "types of the browser's part (tsc)", check: () => run(['tsc', '-p', 'console/tsconfig.json']) },
  { name: 'schema style (buf lint)', check: () => run(['buf', 'lint']) },
  {
    name: 'schema format (buf format)',
    check: () =>
      run(['buf', 'format', '--diff', '--exit-code', '--path', 'proto/nvidia', '--path', 'proto/parley']),
  },
  { name: 'schema compatibility (buf breaking)', check: checkCompatibility },
  { name: 'generated code (buf generate)', check: checkGenerated },
];

/** Compares images of buf, as buf cannot find the module in node_modules of an older commit. */
async function checkCompatibility() {
  const image = join(notes, 'proto.binpb');
  const built = await run(['buf', 'build', '--path', 'proto/parley', '-o', image]);
  if (!built.ok) return built;
  return run(['buf', 'breaking', image, '--against', 'proto/baseline.binpb', '--exclude-imports']);
}

/** @returns {Promise<Result>} */
async function checkGenerated() {
  const fresh = join(notes, 'generated');
  rmSync(fresh, { recursive: true, force: true });
  const generated = await run(['buf', 'generate', '-o', fresh]);
  if (!generated.ok) return generated;
  const { ok, output } = await run(['diff', '-rq', 'gen', join(fresh, 'gen')]);
  return { ok, output: `gen/ is out of date: run \`npm run generate\` and commit gen/.\n${output}` };
}
