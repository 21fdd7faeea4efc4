/** Makes a single executable application of Node: a copy of Node with a program inside. */
import { chmodSync, copyFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { root, run, SetupFailure } from '../setup/run.mjs';

/** Node looks for this mark to see whether a program was injected into it. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const resource = 'NODE_SEA_BLOB';

/**
 * @param {object} parts
 * @param {string} parts.folder holds the main script and the assets; intermediate files go there too
 * @param {string} parts.main the name of the main script
 * @param {readonly string[]} parts.assets names of files in the folder
 * @param {string} parts.output the path of the executable
 * @param {import('./target.mjs').Target} parts.target
 */
export async function makeExecutable({ folder, main, assets, output, target }) {
  const config = {
    main,
    output: 'blob',
    disableExperimentalSEAWarning: true,
    assets: Object.fromEntries(assets.map((name) => [name, name])),
  };
  writeFileSync(join(folder, 'sea.json'), JSON.stringify(config));
  const copy = join(folder, 'parley');
  copyFileSync(target.node, copy);
  chmodSync(copy, 0o755);
  // Before the injection, as `strip` would remove the injected program.
  await tool(folder, target.strip, copy);
  // Runs in the folder, so that the executable contains names instead of paths.
  await tool(folder, ...target.run, '--experimental-sea-config', 'sea.json');
  await tool(folder, 'postject', copy, resource, 'blob', '--sentinel-fuse', fuse);
  // The output may be on another disk, and may be running.
  copyFileSync(copy, `${output}.new`);
  renameSync(`${output}.new`, output);
}

/**
 * Runs a program, and throws if it fails. It gets a clean environment: variables of Parley and Node would change the result.
 *
 * @param {string} cwd
 * @param {readonly string[]} command
 */
export async function tool(cwd, ...command) {
  const tools = join(root, 'node_modules', '.bin');
  const env = { PATH: `${tools}${delimiter}${process.env['PATH']}`, TMPDIR: tmpdir() };
  const { ok, output } = await run(command, { cwd, env });
  if (!ok) throw new SetupFailure(`\`${command.join(' ')}\` failed. ${output}`);
}
