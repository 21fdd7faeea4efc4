/** The steps that install from npm's registry: the dependencies, and Node where the one at hand is too old. */
import {
  accessSync,
  constants,
  cpSync,
  existsSync,
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

/** @type {import('./steps.mjs').Step} */
export const dependencies = {
  doing: 'Installing the dependencies (npm ci)',
  async isDone() {
    const installed = readJson('node_modules/.package-lock.json')?.packages;
    return installed !== undefined && isInstalled(readJson('package-lock.json').packages, installed);
  },
  work: (lock) => npmCi(root, lock),
};

const isThisNewEnough = isNewEnough(process.version);

/** @type {import('./steps.mjs').Step} */
export const runtime = {
  doing: isThisNewEnough
    ? `Linking Node ${process.version} to node_modules/.bin/node`
    : `Installing Node ${requiredVersion} in .runtime/, as this one is ${process.version} (npm ci)`,
  isDone: () => runsNewEnough(node),
  async work(lock) {
    const target = isThisNewEnough ? process.execPath : await installNode(lock);
    mkdirSync(dirname(node), { recursive: true });
    rmSync(node, { force: true });
    symlinkSync(target, node);
  },
};

/** @param {number} lock */
async function installNode(lock) {
  const platform = `${process.platform}-${process.arch}`;
  const locked = join(root, 'scripts', 'runtime', platform);
  const folder = join(root, '.runtime');
  const installed = join(folder, 'node_modules', '.bin', 'node');
  if (existsSync(locked) && !(await runsNewEnough(installed))) {
    cpSync(locked, folder, { recursive: true });
    await npmCi(folder, lock);
  }
  if (await runsNewEnough(installed)) return installed;
  throw new SetupFailure(
    `Parley needs Node ${requiredVersion} or newer. This is ${process.version}, and set-up has no Node that runs on this ` +
      `${platform}. Install Node 24 (https://nodejs.org/en/download), then run the command again.`,
  );
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
 * @typedef {{ version?: string, integrity?: string, optional?: boolean, os?: string[], cpu?: string[] }} LockedPackage
 * @param {Record<string, LockedPackage>} wanted
 * @param {Record<string, LockedPackage>} installed the packages that npm notes as installed
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
  '--include=dev',
  '--include=optional',
  '--engine-strict=false',
  '--no-audit',
  '--no-fund',
  '--loglevel=error',
];

/** Installs the pinned Node for another processor and returns its path. @param {string} arch @param {string} folder */
export async function installRuntime(arch, folder) {
  cpSync(join(root, 'scripts', 'runtime', `linux-${arch}`), folder, { recursive: true });
  await npmCi(folder, undefined, ['--force']);
  return join(folder, 'node_modules', `node-linux-${arch}`, 'bin', 'node');
}

/** @param {string} folder @param {number} [lock] @param {readonly string[]} [more] flags */
async function npmCi(folder, lock, more = []) {
  // The npm that runs this script, on the Node it was started with; `npm` on PATH where yarn or nothing runs it.
  const { npm_execpath: script = '', npm_node_execpath: itsNode = 'node' } = process.env;
  const npm = script.endsWith('npm-cli.js') ? [itsNode, script] : ['npm'];
  // On other signals npm would undo its work, which takes a minute. The next `npm ci` starts from the beginning in any case.
  const { ok, output } = await run([...npm, 'ci', ...flags, ...more, ...cacheFlags()], {
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
