/** Puts a program into a copy of Node, as a single executable application of Node is made. */
import { chmodSync, copyFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SetupFailure } from '../setup/failure.mjs';
import { projectEnvironment } from '../setup/project.mjs';
import { run } from '../setup/run.mjs';

/** Node looks for this, to see whether it is an executable of its own. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const resource = 'NODE_SEA_BLOB';

/**
 * @param {object} parts
 * @param {string} parts.folder where the main script, the assets and the work lie
 * @param {string} parts.main the name of the main script
 * @param {readonly string[]} parts.assets names of files
 * @param {string} parts.output the path of the executable
 */
export async function makeExecutable({ folder, main, assets, output }) {
  const config = {
    main,
    output: 'blob',
    disableExperimentalSEAWarning: true,
    assets: Object.fromEntries(assets.map((name) => [name, name])),
  };
  writeFileSync(join(folder, 'sea.json'), JSON.stringify(config));
  const copy = join(folder, 'parley');
  copyFileSync(process.execPath, copy);
  chmodSync(copy, 0o755);
  // Never after the injection: it would take what was injected for something to strip.
  await tool(folder, 'strip', copy);
  // Names and not paths, as they end up in the executable.
  await tool(folder, process.execPath, '--experimental-sea-config', 'sea.json');
  await tool(folder, 'postject', copy, resource, 'blob', '--sentinel-fuse', fuse);
  renameSync(copy, output);
}

/**
 * Runs a program that has to succeed. The environment of who builds, with settings of Parley and Node perhaps, is kept from it.
 *
 * @param {string} cwd
 * @param {readonly string[]} command
 */
export async function tool(cwd, ...command) {
  const env = { PATH: projectEnvironment().PATH, TMPDIR: tmpdir() };
  const { ok, output } = await run(command, { cwd, env });
  if (!ok) throw new SetupFailure(`\`${command.join(' ')}\` failed. ${output}`);
}
