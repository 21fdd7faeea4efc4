/**
 * Does all that has to be done before Parley can start, be tested or be built from a clone: the Node it runs on, its
 * dependencies, the build and the programs of the system. What is done already is passed over in milliseconds.
 *
 *   node scripts/setup.mjs build      Node, dependencies, build
 *   node scripts/setup.mjs start      the same, and the programs that transcription needs
 *   node scripts/setup.mjs test ...   Node, dependencies, those programs and the ones of tests; then the checks (see check.mjs)
 *   node scripts/setup.mjs run ...    Node and dependencies; then a program with both of them on its PATH
 *   node scripts/setup.mjs programs   the programs only, also where installing them has just failed
 */
import { build } from './setup/build.mjs';
import { dependencies } from './setup/dependencies.mjs';
import { hasCode, SetupFailure } from './setup/failure.mjs';
import { programsToTest, programsToTestSlowly, programsToTranscribe, provide } from './setup/programs.mjs';
import { projectEnvironment } from './setup/project.mjs';
import { endProgramsWithThisProcess, runInForeground } from './setup/run.mjs';
import { runtime } from './setup/runtime.mjs';
import { say } from './setup/say.mjs';
import { doSteps } from './setup/step.mjs';

const [command = '', ...args] = process.argv.slice(2);

/** @type {Record<string, () => Promise<number | void>>} */
const commands = {
  build: () => doSteps([runtime, dependencies, build], 'npm run build'),

  async start() {
    await doSteps([runtime, dependencies, build], 'npm start');
    await provide(programsToTranscribe, 'npm start');
  },

  async test() {
    await doSteps([runtime, dependencies], 'npm test');
    await provide([...programsToTranscribe, ...programsToTest], 'npm test');
    // By themselves: where the system lacks one of these, those above are installed all the same.
    if (args.join() === '--all') await provide(programsToTestSlowly, 'npm test -- --all');
    return runInForeground(['node', 'scripts/check.mjs', ...args], projectEnvironment());
  },

  async run() {
    await doSteps([runtime, dependencies], `node scripts/setup.mjs run ${args.join(' ')}`);
    return runInForeground(args, projectEnvironment());
  },

  programs: () =>
    provide([...programsToTranscribe, ...programsToTest], 'node scripts/setup.mjs programs', {
      tryAgain: true,
    }),
};

endProgramsWithThisProcess();
try {
  const chosen = Object.hasOwn(commands, command) ? commands[command] : undefined;
  if (chosen === undefined)
    throw new SetupFailure(`Say what to set up: ${Object.keys(commands).join(', ')}.`);
  process.exitCode = (await chosen()) ?? 0;
} catch (error) {
  const isOfTheSystem = hasCode(error, 'EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'ENOENT');
  if (!(error instanceof Error) || !(error instanceof SetupFailure || isOfTheSystem)) throw error;
  say(error.message);
  process.exitCode = 1;
}
