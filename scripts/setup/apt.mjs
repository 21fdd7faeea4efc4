/** Debian's packages, as root or by a sudo that asks nothing. What has failed is noted, and not tried again for a day. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasCode, SetupFailure } from './failure.mjs';
import { readNote } from './inputs.mjs';
import { paths } from './project.mjs';
import { findProgram, run } from './run.mjs';

const failuresPath = join(paths.notes, 'packages-failed.json');
const retryAfterMs = 24 * 60 * 60 * 1000;

const sudoTimeoutMs = 5_000;
const updateTimeoutMs = 120_000;
const installTimeoutMs = 900_000;

/** No questions, neither of packages nor of what restarts services after them on Ubuntu. */
const environment = ['DEBIAN_FRONTEND=noninteractive', 'NEEDRESTART_SUSPEND=1'];

/** A machine that has just started often updates itself and holds apt's lock; a mirror may be out of reach. */
const options = [
  ['DPkg::Lock::Timeout', '60'],
  ['Acquire::http::Timeout', '15'],
  ['Acquire::Retries', '1'],
].flatMap(([name, value]) => ['-o', `${name}=${value}`]);

/**
 * What goes before a command for root: nothing, or a sudo that asks for no password. Fails where there is no way.
 *
 * @returns {Promise<readonly string[]>}
 */
export async function rootPrefix() {
  if (process.env['SETUP_PROGRAMS'] === 'keep') throw new SetupFailure('SETUP_PROGRAMS=keep forbids it.');
  if (findProgram('apt-get') === undefined) throw new SetupFailure('This system has no apt-get.');
  if (process.getuid?.() === 0) return [];
  const sudo = ['sudo', '-n'];
  const { ok } = await run([...sudo, 'true'], { timeoutMs: sudoTimeoutMs });
  if (!ok) throw new SetupFailure('It takes root, or a sudo that asks for no password.');
  return sudo;
}

/**
 * @param {readonly string[]} packages
 * @param {readonly string[]} prefix of the commands, for root
 */
export async function installPackages(packages, prefix) {
  const aptGet = [...prefix, 'env', ...environment, 'apt-get', '-q', ...options];
  // Where this fails the lists of before may do, and if not, installing tells more of what is wrong.
  await run([...aptGet, 'update'], { timeoutMs: updateTimeoutMs });
  const install = [...aptGet, 'install', '-y', '--no-install-recommends', '--no-remove', ...packages];
  const { ok, output } = await run(install, { timeoutMs: installTimeoutMs });
  if (!ok) throw new SetupFailure(explainAptFailure(output));
}

/** @param {string} output what apt-get printed */
export function explainAptFailure(output) {
  if (/Could not get lock|Unable to acquire the dpkg/.test(output)) {
    return 'Another program holds the lock of apt, perhaps the automatic update of this machine.';
  }
  if (
    /Temporary failure resolving|Could not connect|Could not resolve|Connection timed out|Unable to fetch/.test(
      output,
    )
  ) {
    return 'apt-get could not reach its mirror: check the network and the proxy settings.';
  }
  if (/Unable to locate package|has no installation candidate/.test(output)) {
    return "The system's package sources do not have them, or could not be reached (on Ubuntu they are in `universe`).";
  }
  if (/was ended by|ETIMEDOUT/.test(output)) return 'apt-get took too long and was ended.';
  const lastError = output.split('\n').findLast((line) => /^(E|dpkg):/.test(line)) ?? output.slice(-200);
  return `apt-get failed: ${lastError}`;
}

/**
 * Why the same packages could not be installed for the same user within a day.
 *
 * @param {readonly string[]} packages
 * @returns {string | undefined}
 */
export function recentFailure(packages) {
  const note = readFailures()[attempt(packages)];
  return note !== undefined && Date.now() - note.at < retryAfterMs ? note.failure : undefined;
}

/**
 * @param {readonly string[]} packages
 * @param {string} failure
 */
export function noteFailure(packages, failure) {
  const failures = { ...readFailures(), [attempt(packages)]: { at: Date.now(), failure } };
  try {
    mkdirSync(paths.notes, { recursive: true });
    writeFileSync(failuresPath, JSON.stringify(failures));
  } catch (error) {
    // In the clone of somebody else the next run tries again, which does no harm.
    if (!hasCode(error, 'EACCES', 'EROFS')) throw error;
  }
}

/** @returns {Record<string, { at: number, failure: string }>} */
function readFailures() {
  return JSON.parse(readNote(failuresPath) ?? '{}');
}

/** @param {readonly string[]} packages */
function attempt(packages) {
  return `user ${process.getuid?.()}: ${packages.join(' ')}`;
}
