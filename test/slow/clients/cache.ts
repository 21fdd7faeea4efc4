/** Clients that are too large for the project's own dependencies. They are installed once for each list of versions. */
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';

const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'parley', 'clients');

/** For hundreds of megabytes on a busy machine. */
export const installMsMax = 1_200_000;

/** A client in its folder, or the reason why it is missing. */
export type Installed = { readonly folder: string } | { readonly missing: string };

/**
 * Copies `source` and runs `install` in the copy, which is kept by the content of `versions`. It may be deleted at any
 * time. If the installation fails, prints what is not tested on standard error.
 */
export async function installClient(
  source: string,
  versions: string,
  install: (folder: string) => Promise<void>,
): Promise<Installed> {
  const copied = async (folder: string) => {
    cpSync(source, folder, { recursive: true });
    await install(folder);
  };
  const installed = await installOnce(basename(source), readFileSync(join(source, versions)), copied);
  // The programs in it may have changed meanwhile.
  if ('folder' in installed) cpSync(source, installed.folder, { recursive: true });
  return installed;
}

/** The same for a client without files of the tests, such as one that a page installs: `versions` is the page's command. */
export async function installOnce(
  name: string,
  versions: string | Buffer,
  install: (folder: string) => Promise<void>,
): Promise<Installed> {
  const hash = createHash('sha256').update(versions).digest('hex');
  const folder = join(cache, `${name}-${hash.slice(0, 16)}`);
  try {
    if (!existsSync(folder)) await installInto(folder, install);
  } catch (error) {
    const lines = String(error).trim().split('\n');
    // npm's reason is not on its last line.
    const missing = `it cannot be installed: ${lines.find((line) => line.includes('reason:')) ?? lines.at(-1)}`;
    process.stderr.write(`NOT TESTED: ${name} (${missing})\n`);
    return { missing };
  }
  return { folder };
}

async function installInto(folder: string, install: (folder: string) => Promise<void>): Promise<void> {
  mkdirSync(dirname(folder), { recursive: true });
  const begun = mkdtempSync(`${folder}-`);
  try {
    await install(begun);
    renameSync(begun, folder);
  } catch (error) {
    // Another file of tests has installed it meanwhile.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(begun, { recursive: true, force: true });
  }
}
