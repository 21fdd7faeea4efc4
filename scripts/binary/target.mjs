/** The platform that the executable is built for: this one, or another whose programs QEMU runs. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { installRuntime } from '../setup/npm.mjs';
import { root, SetupFailure } from '../setup/run.mjs';

/** Names of the other platforms in Debian's packages, by Node's name of the processor. @type {Readonly<Record<string, { gnu: string, qemu: string, cross: string }>>} */
const others = {
  arm64: { gnu: 'aarch64-linux-gnu', qemu: 'qemu-aarch64-static', cross: 'arm64' },
  x64: { gnu: 'x86-64-linux-gnu', qemu: 'qemu-x86_64-static', cross: 'amd64' },
};

/**
 * `node` is the runtime that becomes the executable, and `run` the command that runs it here.
 *
 * @typedef {{ arch: string, node: string, run: readonly string[], strip: string }} Target
 */

/** @param {string} [arch] Node's name of the processor. Default: that of this machine @returns {Promise<Target>} */
export async function targetFor(arch = process.arch) {
  const node = process.execPath;
  if (arch === process.arch) return { arch, node, run: [node], strip: 'strip' };
  const names = others[arch];
  if (names === undefined)
    throw new SetupFailure(`Executables can be built for ${Object.keys(others).join(' and ')}.`);
  const { gnu, qemu, cross } = names;
  const libraries = `/usr/${gnu.replace('x86-64', 'x86_64')}`;
  if (!existsSync(`/usr/bin/${qemu}`) || !existsSync(`/usr/bin/${gnu}-strip`) || !existsSync(libraries))
    throw new SetupFailure(
      `An executable for ${arch} needs Debian's packages qemu-user-static, binutils-${gnu} and libstdc++6-${cross}-cross.`,
    );
  const foreign = await installRuntime(arch, join(root, '.runtime', arch));
  return { arch, node: foreign, run: [qemu, '-L', libraries, foreign], strip: `${gnu}-strip` };
}
