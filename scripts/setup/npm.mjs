/** The npm at hand, and what its failures mean. */
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { SetupFailure } from './failure.mjs';
import { run } from './run.mjs';

/**
 * What the user's settings could say otherwise. No package of Parley needs an install script: each brings its binaries
 * ready made. The retries are shorter than npm's own, which leave a machine without a network waiting for minutes.
 */
const flags = [
  '--ignore-scripts',
  '--include=dev',
  '--include=optional',
  '--install-strategy=hoisted',
  '--engine-strict=false',
  '--no-audit',
  '--no-fund',
  '--no-update-notifier',
  '--loglevel=error',
  '--fetch-retries=2',
  '--fetch-retry-mintimeout=1000',
  '--fetch-retry-maxtimeout=5000',
];

/** What npm prints of a failure, and what to do about it. The first that matches is the one to tell. */
const remedies = /** @type {const} */ ([
  [
    /EINTEGRITY/,
    'What the registry sent is not what this project has pinned. Check the registry that npm uses',
  ],
  [
    /EUSAGE|can only install packages when/,
    'package.json and package-lock.json do not agree: run `npm install --ignore-scripts` and commit both',
  ],
  [/ENOSPC/, 'The disk is full: make room'],
  [/EACCES|EPERM|EROFS/, 'npm may not write here: check who owns this folder and the npm cache (~/.npm)'],
  [
    /CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/,
    'npm does not trust the certificate of its registry: name your authority with `npm config set cafile FILE`',
  ],
  [
    /ENOTFOUND|EAI_AGAIN|ECONN|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED|ERR_SOCKET|network|socket hang up/i,
    'npm could not reach its registry: check the network and the proxy settings',
  ],
  [/E40[13]/, 'The registry refused to serve npm: check the login that npm has for it'],
  [
    /E404|ETARGET/,
    'The registry that npm uses does not have a package that is needed: check `npm config get registry`',
  ],
]);

/**
 * Runs `npm ci` in a folder.
 *
 * @param {string} folder
 * @param {string} again the command for people to run once they have mended what failed
 */
export async function installLocked(folder, again) {
  // On any other signal npm takes back what it has done, for many seconds. The next `npm ci` begins anew in any case.
  const { ok, output } = await run([...npmAtHand(), 'ci', ...flags], { cwd: folder, endSignal: 'SIGKILL' });
  if (!ok) throw new SetupFailure(explainNpmFailure(output, again));
}

/** npm says in the environment where it lies; a program that stands in for it may say so of itself, and is not meant. */
function npmAtHand() {
  const { npm_execpath: script } = process.env;
  const isNpm = script !== undefined && basename(script) === 'npm-cli.js' && existsSync(script);
  return isNpm ? [process.execPath, script] : ['npm'];
}

/**
 * @param {string} output what npm printed
 * @param {string} again
 */
export function explainNpmFailure(output, again) {
  if (output.includes('spawn npm ENOENT'))
    return `There is no npm on PATH: install npm, then run \`${again}\` again.`;
  const remedy = remedies.find(([sign]) => sign.test(output))?.[1] ?? 'npm failed: see what it says below';
  const said = output.split('\n').slice(0, 12).join('\n  ');
  return `${remedy}, then run \`${again}\` again. npm said:\n  ${said}`;
}
