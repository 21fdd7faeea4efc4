/** The steps that compile the sources to dist/. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run, SetupFailure } from './run.mjs';
import { notes } from './steps.mjs';

const configs = ['tsconfig.json', 'package-lock.json'];
const node = 'node_modules/.bin/node';
const tsc = 'node_modules/.bin/tsc';

/** The server and its pages. `./parley` compares the time of its stamp with those of the same inputs. */
export const bundles = compileStep({
  doing: 'Bundling the server and its pages in dist/ (esbuild)',
  takes: '4 s',
  folder: 'dist',
  except: 'dist/gen',
  inputs: ['src', 'gen', 'console', 'proto', 'reference', 'docs', ...configs],
  tools: [
    [node, 'scripts/build-program.mjs'],
    [node, 'scripts/build-console.mjs'],
  ],
});

/** The check of the types, and the generated code for clients in TypeScript. */
export const types = compileStep({
  doing: 'Checking the types, and compiling gen/ to dist/gen/ (tsc)',
  takes: '8 s',
  folder: 'dist/gen',
  inputs: ['src', 'gen', 'tsconfig.gen.json', ...configs],
  tools: [
    [tsc, '-p', 'tsconfig.json'],
    [tsc, '-p', 'tsconfig.gen.json'],
  ],
});

/**
 * @param {{ doing: string, takes: string, folder: string, except?: string, inputs: string[], tools: string[][] }} facts
 * @returns {import('./steps.mjs').Step}
 */
function compileStep({ doing, takes, folder, except = '', inputs, tools }) {
  /** Its time is the start of the last successful build. */
  const stamp = join(folder, '.built');
  return {
    doing,
    takes,
    async isDone() {
      const { ok, output } = await run(['find', ...inputs, '-newer', stamp]);
      return ok && output === '';
    },
    async work() {
      const started = join(notes, `${folder.replace('/', '-')}-started`);
      mkdirSync(join(root, folder), { recursive: true });
      writeFileSync(started, '');
      const results = await Promise.all(tools.map((tool) => run(tool)));
      const failed = results.find(({ ok }) => !ok);
      if (failed !== undefined)
        throw new SetupFailure(
          `The sources do not compile. Fix them and run the command again.\n${failed.output}`,
        );
      // Removes the files of removed sources. The folder is not emptied before, as a server may run from it.
      const old = ['-type', 'f', '!', '-newer', started, '!', '-path', `${except}/*`];
      await run(['find', folder, ...old, '-delete']);
      renameSync(started, join(root, stamp));
    },
  };
}
