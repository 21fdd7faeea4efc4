/** The build in dist/. The generated code is committed and belongs to its inputs. */
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SetupFailure } from './failure.mjs';
import { digestOf, readNote } from './inputs.mjs';
import { paths, projectEnvironment, root } from './project.mjs';
import { run } from './run.mjs';

/** The launcher compares its date with those of the inputs. */
const notePath = join(paths.build, '.built');
const inputs = [join(root, 'src'), join(root, 'gen'), join(root, 'tsconfig.json'), paths.lockfile];

/** @type {import('./step.mjs').Step} */
export const build = {
  doing: 'Building dist/ (tsc)',

  async isDone() {
    return readNote(notePath) === digestOf(inputs);
  },

  async work(again) {
    const digest = digestOf(inputs); // before the build: a file that changes meanwhile is then built again
    rmSync(notePath, { force: true });
    const { ok, output } = await run(['tsc', '-p', 'tsconfig.json'], { env: projectEnvironment() });
    if (!ok) {
      throw new SetupFailure(
        `The sources do not compile. Mend them, then run \`${again}\` again.\n${output}`,
      );
    }
    removeLeftovers(paths.build, root);
    writeFileSync(notePath, digest);
  },
};

/**
 * Removes what was built from sources that are gone. The folder is not emptied before a build, as a server may run from it.
 *
 * @param {string} folder a folder of the build
 * @param {string} sources where the sources of what it holds are
 */
function removeLeftovers(folder, sources) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    const source = join(sources, entry.name.replace(/(\.d\.ts|\.js|\.js\.map)$/, '.ts'));
    if (!existsSync(source)) rmSync(path, { recursive: true });
    else if (entry.isDirectory()) removeLeftovers(path, source);
  }
}
