/** The steps that install from npm's registry: the packages, and Node where the one at hand is too old. */
import {
  accessSync,
  constants,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { root, run, SetupFailure } from './run.mjs';
import { notes } from './steps.mjs';

/** The Node that Parley runs on: a link, found first by npm's scripts. */
const node = join(root, 'node_modules', '.bin', 'node');

/** The oldest supported version, such as `24.21`. Older ones keep the sockets of HTTP/2 clients that send malformed headers. */
export const requiredVersion = readJson('package.json').engines.node.replace('>=', '');

/** A start needs these packages: those of the server, and those that build it. */
export const program = packagesStep({
  doing: "Installing Parley's packages (npm ci)",
  takes: '10 s, 46 MB to download',
  folder: '.',
  isWanted: ({ dev, devOptional }) => !dev && !devOptional,
  omit: '--omit=dev',
});

/** Also compilers, checks and the test runner. A server that runs from this clone keeps its packages. */
export const tools = packagesStep({
  doing: 'Installing all packages of Parley (npm)',
  takes: '15 s, 150 MB to download',
  folder: '.',
});

/** SDKs of clients, and others that only tests use. */
export const testPackages = packagesStep({
  doing: "Installing the tests' own packages (npm ci in test/)",
  takes: '10 s, 60 MB to download',
  folder: 'test',
});

/** The program of `examples/stripe-top-up` runs with the tests' packages. */
export const examplePackages = linkStep('examples/node_modules', '../test/node_modules');

const isThisNewEnough = isNewEnough(process.version);
const runtimeFolder = join(root, '.runtime');
const installedNode = join(runtimeFolder, 'node_modules', '.bin', 'node');

/** @type {import('./steps.mjs').Step} */
export const runtime = {
  doing: `Installing Node ${requiredVersion} in .runtime/, as this one is ${process.version} (npm ci)`,
  takes: '10 s, 53 MB to download',
  isDone: async () => isThisNewEnough || (await runsNewEnough(node)) || (await runsNewEnough(installedNode)),
  async work(lock) {
    const locked = join(root, 'scripts', 'runtime', `${process.platform}-${process.arch}`);
    if (existsSync(locked)) {
      cpSync(locked, runtimeFolder, { recursive: true });
      await npm(['ci'], { folder: runtimeFolder, lock });
    }
    if (await runsNewEnough(installedNode)) return;
    throw new SetupFailure(
      `Parley needs Node ${requiredVersion} or newer. This is ${process.version}, and set-up has no Node that runs on this ` +
        `${process.platform}-${process.arch}. Install Node 24 (https://nodejs.org/en/download), then run the command again.`,
    );
  },
};

/** After the packages, as installing them empties the folder. @type {import('./steps.mjs').Step} */
export const runtimeLink = {
  isDone: () => runsNewEnough(node),
  async work() {
    mkdirSync(dirname(node), { recursive: true });
    rmSync(node, { force: true });
    symlinkSync(isThisNewEnough ? process.execPath : installedNode, node);
  },
};

/**
 * @typedef {{ version?: string, integrity?: string, optional?: boolean, dev?: boolean, devOptional?: boolean, os?: string[], cpu?: string[] }} LockedPackage
 * @typedef {Record<string, LockedPackage>} LockedPackages by their folders
 */

/**
 * @param {{ doing: string, takes: string, folder: string, isWanted?: (one: LockedPackage) => boolean, omit?: string }} facts
 * @returns {import('./steps.mjs').Step}
 */
function packagesStep({ doing, takes, folder, isWanted = () => true, omit = '--include=dev' }) {
  const path = join(root, folder);
  const locked = () => /** @type {LockedPackages} */ (readJson(join(folder, 'package-lock.json')).packages);
  const wanted = () => Object.fromEntries(Object.entries(locked()).filter(([, one]) => isWanted(one)));
  /** The packages that npm notes as installed. @returns {LockedPackages | undefined} */
  const installed = () => readJson(join(folder, 'node_modules/.package-lock.json'))?.packages;
  return {
    doing,
    takes,
    async isDone() {
      const found = installed();
      return found !== undefined && isInstalled(wanted(), found);
    },
    async work(lock) {
      const found = installed();
      // `npm ci` empties node_modules, from which a server may run.
      if (found === undefined) return npm(['ci', omit], { folder: path, lock });
      removeIncomplete(path, locked(), found);
      const hasTools = Object.values(found).some(({ dev }) => dev);
      await npm(['install', '--no-save', hasTools ? '--include=dev' : omit], { folder: path, lock });
    },
    progress: () => progressOf(path, wanted()),
  };
}

/** Removes what npm has not noted: it takes a folder that it left half written for a package. @param {string} path @param {LockedPackages} locked @param {LockedPackages} installed */
function removeIncomplete(path, locked, installed) {
  for (const [folder, { version }] of Object.entries(locked))
    if (folder !== '' && installed[folder]?.version !== version)
      rmSync(join(path, folder), { recursive: true, force: true });
}

/** @param {string} path @param {LockedPackages} wanted */
function progressOf(path, wanted) {
  const folders = Object.entries(wanted).flatMap(([folder, one]) =>
    folder === '' || one.optional || !fitsThisPlatform(one) ? [] : [folder],
  );
  const there = folders.filter((folder) => existsSync(join(path, folder, 'package.json')));
  return `${there.length} of ${folders.length} packages`;
}

/** @param {string} link @param {string} target relative to the link @returns {import('./steps.mjs').Step} */
function linkStep(link, target) {
  const path = join(root, link);
  return {
    isDone: async () => lstatSync(path, { throwIfNoEntry: false }) !== undefined,
    work: async () => symlinkSync(target, path),
  };
}

/** @param {string} path of a Node that may not exist */
async function runsNewEnough(path) {
  const { ok, output } = await run([path, '--version']);
  return ok && isNewEnough(output);
}

/** @param {string} version such as `v24.21.0` */
export function isNewEnough(version, required = requiredVersion) {
  return version.replace(/^v/, '').localeCompare(required, 'en', { numeric: true }) >= 0;
}

/**
 * Whether all packages of a lockfile are installed, and for this platform: a clone may be shared with a container of another
 * one. Optional packages may be missing, as most are for other platforms.
 *
 * @param {LockedPackages} wanted
 * @param {LockedPackages} installed the packages that npm notes as installed
 */
export function isInstalled(wanted, installed) {
  const isComplete = Object.entries(wanted).every(([path, { version, integrity, optional = false }]) => {
    const found = installed[path];
    if (path === '' || found === undefined) return path === '' || optional;
    return found.version === version && (integrity === undefined || found.integrity === integrity);
  });
  return isComplete && Object.values(installed).every(fitsThisPlatform);
}

/** @param {LockedPackage} locked */
function fitsThisPlatform({ os, cpu }) {
  return allows(os, process.platform) && allows(cpu, process.arch);
}

/**
 * @param {readonly string[] | undefined} names that a package supports; an exclusion such as `!win32` counts as support
 * @param {string} own
 */
function allows(names, own) {
  return names === undefined || names.some((name) => name === own || name.startsWith('!'));
}

/**
 * No package needs an install script: each contains its binaries. The retries are shorter than npm's own, which
 * take minutes without a network. The other flags undo settings of the user.
 */
const flags = [
  '--ignore-scripts',
  '--fetch-retry-mintimeout=1000',
  '--fetch-retry-maxtimeout=5000',
  '--include=optional',
  '--engine-strict=false',
  '--no-audit',
  '--no-fund',
  '--loglevel=error',
];

/** Installs the pinned Node for another processor and returns its path. @param {string} arch @param {string} folder */
export async function installRuntime(arch, folder) {
  cpSync(join(root, 'scripts', 'runtime', `linux-${arch}`), folder, { recursive: true });
  await npm(['ci', '--force'], { folder });
  return join(folder, 'node_modules', `node-linux-${arch}`, 'bin', 'node');
}

/** @param {readonly string[]} command of npm @param {{ folder: string, lock?: number }} place */
async function npm(command, { folder, lock }) {
  // The npm that runs this script, on the Node it was started with; `npm` on PATH where yarn or nothing runs it.
  const { npm_execpath: script = '', npm_node_execpath: itsNode = 'node' } = process.env;
  const program = script.endsWith('npm-cli.js') ? [itsNode, script] : ['npm'];
  // On other signals npm would undo its work, which takes a minute. The next set-up does not need that.
  const { ok, output } = await run([...program, ...command, ...flags, ...cacheFlags()], {
    cwd: folder,
    ...(lock !== undefined && { lock }),
    killSignal: 'SIGKILL',
  });
  if (!ok) throw new SetupFailure(explainNpmFailure(output));
}

/** npm's cache is in the clone if this user can write to no other folder. */
function cacheFlags() {
  const cache = process.env['npm_config_cache'] || join(homedir(), '.npm');
  try {
    mkdirSync(cache, { recursive: true });
    accessSync(cache, constants.W_OK);
    return [];
  } catch {
    return [`--cache=${join(notes, 'npm')}`];
  }
}

/** Errors that npm prints, with advice. The first match counts. */
const remedies = /** @type {const} */ ([
  [/spawn npm ENOENT/, 'npm is not on PATH: install npm'],
  [/EINTEGRITY/, 'The registry sent other content than this project has pinned: check the registry'],
  [/EUSAGE/, 'package.json and package-lock.json do not agree: run `npm install` and commit both'],
  [/ENOSPC/, 'The disk is full: free some space'],
  [/EACCES|EPERM|EROFS/, 'npm may not write here: check who owns this folder and the npm cache (~/.npm)'],
  [/CERT|SELF_SIGNED|UNABLE_TO_/, 'npm does not trust the registry: run `npm config set cafile FILE`'],
  [/E40[13]/, 'The registry refused npm: check its login'],
  [/E404|ETARGET/, 'The registry lacks a package: check `npm config get registry`'],
  [
    /ENOTFOUND|EAI_AGAIN|ECONN|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED|network/i,
    'npm could not reach its registry: check the network and the proxy settings',
  ],
]);

/** @param {string} output of npm */
export function explainNpmFailure(output) {
  const remedy = remedies.find(([sign]) => sign.test(output))?.[1] ?? 'npm failed: see its message below';
  const message = output.split('\n').slice(0, 12).join('\n  ');
  return `${remedy}, then run the command again.\n  ${message}`;
}

/** @param {string} file @returns the parsed file of the project, undefined where it does not exist */
function readJson(file) {
  const path = join(root, file);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}
