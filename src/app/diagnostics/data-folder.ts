import { accessSync, constants, existsSync, mkdtempSync, rmdirSync, type Stats, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { type Diagnostic, ok, problem, warning } from '../../core/values/diagnostics.ts';
import { fileReason, systemCode } from '../../files/reason.ts';
import { workingFolderIsGone } from '../../files/working-folder.ts';

const mebibyte = 1024 ** 2;
/** With less free space the records of a day may not fit. */
const scarceBytes = 1024 * mebibyte;
const fullBytes = 100 * mebibyte;

const writableByOthers = 0o022;

/** The files with keys or hashes of keys. */
const privateFiles = ['parley.db', 'first-run.json'];

const chooseAnother = 'Choose another with dataDir or PARLEY_DATA_DIR.';

/** Checks that the folder exists or can be created, is writable and private, and has free space. */
export async function diagnoseDataFolder(dataDir: string): Promise<Diagnostic[]> {
  if (!isAbsolute(dataDir) && workingFolderIsGone()) {
    const advice = 'Change to another, or give an absolute path with dataDir or PARLEY_DATA_DIR.';
    return [problem('folder', 'The current working folder no longer exists.', advice)];
  }
  if (!existsSync(dataDir)) return [missingFolder(dataDir), await freeSpace(nearestFolder(dataDir))];
  const folder = statSync(dataDir);
  if (!folder.isDirectory()) return [problem('folder', `${dataDir} is not a folder.`, chooseAnother)];
  return [writable(dataDir), privacy(dataDir, folder), await freeSpace(dataDir)];
}

function missingFolder(dataDir: string): Diagnostic {
  const nearest = nearestFolder(dataDir);
  try {
    // A test is necessary, as permissions are not enough: /proc allows no new folders, and a disk may have no inodes
    // left.
    rmdirSync(mkdtempSync(join(nearest, '.parley-doctor-')));
    return ok('folder', `${dataDir} does not exist yet. The first start creates it.`);
  } catch (error) {
    const reason = systemCode(error) === 'ENOENT' ? 'the file system allows none' : fileReason(error);
    const found = `${dataDir} does not exist, and no folder can be created in ${nearest} (${reason}).`;
    return problem('folder', found, chooseAnother);
  }
}

/** The nearest parent folder that exists. */
function nearestFolder(path: string): string {
  const absolute = resolve(path);
  return existsSync(absolute) ? absolute : nearestFolder(dirname(absolute));
}

function writable(dataDir: string): Diagnostic {
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    return ok('folder', `${dataDir} is writable.`);
  } catch (error) {
    const advice = `Give it to the user that runs the server: chown -R USER ${dataDir}`;
    return problem('folder', `${dataDir} is not writable (${fileReason(error)}).`, advice);
  }
}

/** @param folder of the data folder, which exists */
export function privacy(dataDir: string, folder: Stats = statSync(dataDir)): Diagnostic {
  const files = privateFiles.map((name) => join(dataDir, name)).filter((path) => existsSync(path));
  const open = files.filter((path) => isOpenToOthers(statSync(path)));
  if (open.length > 0) {
    const found = `Other users of this machine can read ${open.join(' and ')}.`;
    return problem('privacy', found, `chmod 600 ${open.join(' ')}`);
  }
  const advice = `chmod 700 ${dataDir}`;
  if ((folder.mode & writableByOthers) !== 0) {
    const found = `Other users of this machine can replace the files in ${dataDir}.`;
    return problem('privacy', found, advice);
  }
  if (isOpenToOthers(folder))
    return warning('privacy', `Other users of this machine can list ${dataDir}.`, advice);
  return ok('privacy', 'Only its owner can read it.');
}

function isOpenToOthers({ mode }: Stats): boolean {
  return (mode & 0o077) !== 0;
}

async function freeSpace(folder: string): Promise<Diagnostic> {
  const { bavail, bsize } = await statfs(folder);
  const bytes = bavail * bsize;
  const found = `${Math.floor(bytes / mebibyte)} MiB are free.`;
  const advice = 'Free some space: on a full disk the server refuses all requests.';
  if (bytes < fullBytes) return problem('free space', found, advice);
  return bytes < scarceBytes ? warning('free space', found, advice) : ok('free space', found);
}
