/**
 * `npm run release -- VERSION [PART ...]`: writes what people download to release/VERSION/ (docs/versions.md). One commit always
 * gives the same bytes.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { schemaArchive } from './console/files.mjs';
import { makeNpmPackage, makeWheel } from './release/clients.mjs';
import { makeDebianPackage } from './release/debian.mjs';
import { makeImage } from './release/image.mjs';
import { listOfParts } from './release/list-of-parts.mjs';
import { withScratch } from './release/scratch.mjs';
import { makeArchive } from './release/tar-archive.mjs';
import { refusalOf } from './release/version.mjs';
import { root, run, SetupFailure, say } from './setup/run.mjs';

/** @typedef {import('./release/version.mjs').Release} Release */

/** The parts of a release, by their names on the command line. @type {Readonly<Record<string, (release: Release) => Promise<void>>>} */
const parts = {
  async clients(release) {
    await makeNpmPackage(release);
    await makeWheel(release);
  },
  async proto({ version, output }) {
    writeFileSync(join(output, `parley-proto-${version}.tar.gz`), schemaArchive());
  },
  async sbom(release) {
    const list = `${JSON.stringify(await listOfParts(release), null, 2)}\n`;
    writeFileSync(join(release.output, `parley-${release.version}.cdx.json`), list);
  },
  x64: (release) => makeExecutables(release, 'x64'),
  arm64: (release) => makeExecutables(release, 'arm64'),
};

/** @param {Release} release @param {'x64' | 'arm64'} arch */
function makeExecutables(release, arch) {
  return withScratch(async (folder) => {
    const executable = join(folder, 'parley');
    const built = await run([process.execPath, join(root, 'scripts/build-binary.mjs'), executable, arch]);
    if (!built.ok) throw new SetupFailure(built.output);
    const program = { ...release, executable, arch };
    await makeArchive(program);
    await makeDebianPackage(program);
    await makeImage(program);
  });
}

/** @param {string} folder */
function writeSums(folder) {
  const names = readdirSync(folder).filter((name) => name !== 'SHA256SUMS');
  const lines = names.sort().map((name) => {
    const sum = createHash('sha256').update(readFileSync(join(folder, name)));
    return `${sum.digest('hex')}  ${name}\n`;
  });
  writeFileSync(join(folder, 'SHA256SUMS'), lines.join(''));
}

/** @param {string} version @param {readonly string[]} wanted */
async function makeRelease(version, wanted) {
  const unknown = wanted.find((name) => parts[name] === undefined);
  if (unknown !== undefined)
    throw new SetupFailure(`${unknown} is none of ${Object.keys(parts).join(', ')}.`);
  const status = await run(['git', 'status', '--porcelain']);
  const packageVersion = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version;
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const refusal = refusalOf({
    version,
    packageVersion,
    changelog,
    changed: status.ok ? status.output : 'no git',
  });
  if (refusal !== undefined) throw new SetupFailure(refusal);
  const { output: epoch } = await run(['git', 'log', '-1', '--format=%ct']);
  const output = join(root, 'release', version);
  // An earlier release stays until this one is whole.
  const made = `${output}.new`;
  rmSync(made, { recursive: true, force: true });
  mkdirSync(made, { recursive: true });
  for (const name of wanted.length > 0 ? wanted : Object.keys(parts)) {
    say(`making ${name}`);
    await parts[name]?.({ version, epoch, output: made });
  }
  writeSums(made);
  rmSync(output, { recursive: true, force: true });
  renameSync(made, output);
  say(`${output} has ${readdirSync(output).join(', ')}`);
}

try {
  const [version = '', ...wanted] = process.argv.slice(2);
  await makeRelease(version, wanted);
} catch (error) {
  if (!(error instanceof SetupFailure)) throw error;
  say(error.message);
  process.exitCode = 1;
}
