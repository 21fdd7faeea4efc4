/**
 * Sets up a clone. Finished steps are skipped within milliseconds. Commands run at the same time.
 *
 *   node scripts/setup.mjs program  installs what the server needs, with Node where the one at hand is too old, and bundles it
 *   node scripts/setup.mjs start    program; then hear in the background
 *   node scripts/setup.mjs tools    installs all packages of package.json
 *   node scripts/setup.mjs build    tools, program, the check of the types, and the generated code for clients
 *   node scripts/setup.mjs hear     fetches Moonshine and compiles the decoder; without Moonshine compiles a recogniser too
 *   node scripts/setup.mjs modules  compiles the decoder and the recogniser
 *   node scripts/setup.mjs test     tools, modules, and the packages of npm and Debian that only tests use
 */
import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { bundles, types } from './setup/build.mjs';
import { isHearingBuilt, noteEnd, noteHearing, noteWaiting, provideHearing } from './setup/hearing.mjs';
import {
  fetchMoonshine,
  hasMoonshine,
  isMoonshineSettled,
  moonshineProgress,
  provideMoonshine,
} from './setup/moonshine.mjs';
import { examplePackages, program, runtime, runtimeLink, testPackages, tools } from './setup/npm.mjs';
import { packages, provide } from './setup/programs.mjs';
import { SetupFailure, say, stop } from './setup/run.mjs';
import { doSteps } from './setup/steps.mjs';

const installTools = [[tools, runtime], runtimeLink];
const buildProgram = () => doSteps([[program, runtime], runtimeLink, bundles]);

/** @type {Record<string, () => Promise<void>>} */
const commands = {
  program: buildProgram,
  async start() {
    await buildProgram();
    // Not before: it would take network and processors from what a start waits for.
    if (!hears() || !isMoonshineSettled()) inBackground('hear');
  },
  tools: () => doSteps(installTools),
  build: () => doSteps([...installTools, [bundles, types]]),
  async hear() {
    const moonshine = provideMoonshine();
    // A failure is reported when it is waited for.
    moonshine.catch(() => undefined);
    await provideHearing('decoder');
    await noteWaiting('step 3 of 3, fetching Moonshine', moonshineProgress, moonshine);
    if (isHearingBuilt('decoder') && !hears()) await provideHearing('recogniser');
    noteEnd(hears());
  },
  modules: provideModules,
  async test() {
    // The tests of Moonshine take it from the cache; all others run with the compiled recogniser.
    await Promise.all([
      doSteps([...installTools, testPackages, examplePackages]),
      provideForTests(),
      fetchMoonshine(),
    ]);
  },
};

async function provideForTests() {
  // In one call, as one apt-get waits for another.
  await provide({ ...packages.compiler, ...packages.tests });
  await provideModules();
}

async function provideModules() {
  await provideHearing('decoder', 'recogniser');
  noteEnd(hears());
}

/** Whether the clone has all that transcription needs. */
function hears() {
  return isHearingBuilt('decoder') && (hasMoonshine() || isHearingBuilt('recogniser'));
}

/**
 * Starts a command in the background, with a lower priority than the server. It outlives this process.
 *
 * @param {string} command
 */
function inBackground(command) {
  const self = fileURLToPath(import.meta.url);
  const child = spawn(process.execPath, [self, command], { stdio: ['ignore', 'ignore', 'inherit'] });
  child.unref();
  if (child.pid === undefined) return;
  setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  noteHearing(child.pid);
}

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    stop();
    process.exit(130);
  });
}
try {
  const names = process.argv.slice(2);
  const chosen = names.flatMap((name) => (Object.hasOwn(commands, name) ? (commands[name] ?? []) : []));
  if (chosen.length === 0 || chosen.length < names.length)
    throw new SetupFailure(`Name the commands to run: ${Object.keys(commands).join(', ')}.`);
  await Promise.all(chosen.map((command) => command()));
} catch (error) {
  // A system error such as EACCES names the file.
  if (!(error instanceof SetupFailure) && !(error instanceof Error && 'syscall' in error)) throw error;
  say(error.message);
  process.exitCode = 1;
  stop();
}
