/** The real runtimes, as `parley runtimes install` brings them. */
import { parley as command } from './command-line.ts';

/** The parts of the test's folder that it needs. */
interface Folder {
  readonly path: string;
  file(name: string): string;
}

/**
 * Installs one in `data/runtimes` of a folder.
 * @param args of the command
 * @returns why it could not be had; undefined if it is there
 */
export async function installRuntime(folder: Folder, args: readonly string[]) {
  // A registry inside a company may have a certificate of its own.
  const { NODE_EXTRA_CA_CERTS = '' } = process.env;
  const installed = await command(args, { cwd: folder.path, env: { NODE_EXTRA_CA_CERTS } });
  const missing = installed.code === 0 ? undefined : installed.stderr.trim().split('\n').at(-1);
  if (missing !== undefined) process.stderr.write(`NOT TESTED: ${args.join(' ')} (${missing})\n`);
  return { missing, stderr: installed.stderr, runtimes: folder.file('data/runtimes') };
}
