/** The step that compiles the sources to dist/. */
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run, SetupFailure } from './run.mjs';
import { notes } from './steps.mjs';

/** Its time is the start of the last successful build. `./parley` compares it with the times of the same inputs. */
const stamp = 'dist/.built';
const inputs = [
  'src',
  'gen',
  'console',
  'proto',
  'reference',
  'docs',
  'tsconfig.json',
  'tsconfig.gen.json',
  'package-lock.json',
];

/** @type {import('./steps.mjs').Step} */
export const build = {
  doing: 'Building dist/ (tsc, esbuild)',
  async isDone() {
    const { ok, output } = await run(['find', ...inputs, '-newer', stamp]);
    return ok && output === '';
  },
  async work() {
    const started = join(notes, 'build-started');
    mkdirSync(join(root, 'dist'), { recursive: true });
    writeFileSync(started, '');
    // The types of a new clone were checked before they were committed, and checking them takes most of a build's time.
    const checks = existsSync(join(root, stamp)) ? [['node_modules/.bin/tsc', '-p', 'tsconfig.json']] : [];
    const tools = [
      ...checks,
      ['node_modules/.bin/tsc', '-p', 'tsconfig.gen.json'],
      ['node_modules/.bin/node', 'scripts/build-program.mjs'],
      ['node_modules/.bin/node', 'scripts/build-console.mjs'],
    ];
    const results = await Promise.all(tools.map((tool) => run(tool)));
    const failed = results.find(({ ok }) => !ok);
    if (failed !== undefined)
      throw new SetupFailure(
        `The sources do not compile. Fix them and run the command again.\n${failed.output}`,
      );
    // Removes the files of removed sources. dist/ is not emptied before, as a server may run from it.
    await run(['find', 'dist', '-type', 'f', '!', '-newer', started, '-delete']);
    renameSync(started, join(root, stamp));
  },
};
