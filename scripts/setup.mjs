/**
 * Sets up a clone. A step that is done already is skipped in milliseconds.
 *
 *   node scripts/setup.mjs tools    installs the dependencies, and Node where the one at hand is too old
 *   node scripts/setup.mjs build    also compiles the sources
 *   node scripts/setup.mjs start    also installs the Debian packages that transcription needs
 *   node scripts/setup.mjs test     tools, and the Debian packages of transcription and tests
 */
import { build } from './setup/build.mjs';
import { dependencies, runtime } from './setup/npm.mjs';
import { packages, provide } from './setup/programs.mjs';
import { SetupFailure, say } from './setup/run.mjs';
import { doSteps } from './setup/steps.mjs';

/** @type {Record<string, () => Promise<void>>} */
const commands = {
  tools: () => doSteps([dependencies, runtime]),
  build: () => doSteps([dependencies, runtime, build]),
  async start() {
    await doSteps([dependencies, runtime, build]);
    await provide(packages.transcription);
  },
  async test() {
    await doSteps([dependencies, runtime]);
    await provide({ ...packages.transcription, ...packages.tests });
  },
};

try {
  const [name = ''] = process.argv.slice(2);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) throw new SetupFailure(`Name a command: ${Object.keys(commands).join(', ')}.`);
  await command();
} catch (error) {
  // An error of the system, such as EACCES, names the file.
  if (!(error instanceof SetupFailure) && !(error instanceof Error && 'syscall' in error)) throw error;
  say(error.message);
  process.exitCode = 1;
}
