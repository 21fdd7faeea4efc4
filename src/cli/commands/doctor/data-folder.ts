import { accessSync, constants, existsSync, mkdtempSync, rmdirSync, type Stats, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { type Diagnostic, ok, problem, warning } from '../../../core/diagnostics.ts';
import { fileReason, systemCode } from '../../../files/reason.ts';
import { workingFolderIsGone } from '../data-folder.ts';

const mebibyte = 1024 ** 2;
/** Below this a day's records may not fit. */
const scarceBytes = 1024 * mebibyte;
const fullBytes = 100 * mebibyte;

/** The files that hold keys or hashes of keys. */
const privateFiles = ['parley.db', 'first-run.json'];

/** Whether the folder is there, can be written, is read by nobody else and has room. */
export async function diagnoseDataFolder(dataDir: string): Promise<Diagnostic[]> {
  if (!isAbsolute(dataDir) && workingFolderIsGone()) {
    const advice = 'Start it in another, or give the whole path with dataDir or PARLEY_DATA_DIR.';
    return [problem('folder', 'The folder that this was started in is gone.', advice)];
  }
  if (!existsSync(dataDir)) return [missingFolder(dataDir), await freeSpace(nearestFolder(dataDir))];
  const folder = statSync(dataDir);
  if (!folder.isDirectory()) {
    return [problem('folder', `${dataDir} is no folder.`, 'Choose another with dataDir or PARLEY_DATA_DIR.')];
  }
  return [
    writable(dataDir, `${dataDir} can be written.`),
    ...privacy(dataDir, folder),
    await freeSpace(dataDir),
  ];
}

function missingFolder(dataDir: string): Diagnostic {
  const nearest = nearestFolder(dataDir);
  const diagnostic = writable(nearest, `${dataDir} is not there yet. The first start makes it.`);
  if (diagnostic.state !== 'ok') return diagnostic;
  try {
    // Permission alone says little: no folder can be made in /proc, or where the disk has no more files to give.
    rmdirSync(mkdtempSync(join(nearest, '.parley-doctor-')));
    return diagnostic;
  } catch (error) {
    const reason = systemCode(error) === 'ENOENT' ? 'the system takes none' : fileReason(error);
    const found = `${dataDir} is not there, and no folder can be made in ${nearest} (${reason}).`;
    return problem('folder', found, 'Choose another with dataDir or PARLEY_DATA_DIR.');
  }
}

/** The folder in which the missing ones will be made. */
function nearestFolder(path: string): string {
  const absolute = resolve(path);
  return existsSync(absolute) ? absolute : nearestFolder(dirname(absolute));
}

function writable(folder: string, found: string): Diagnostic {
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return ok('folder', found);
  } catch (error) {
    const advice = `Give it to the user that runs the server: chown -R USER ${folder}`;
    return problem('folder', `${folder} cannot be written (${fileReason(error)}).`, advice);
  }
}

function privacy(dataDir: string, folder: Stats): Diagnostic[] {
  const files = privateFiles.map((name) => join(dataDir, name)).filter((path) => existsSync(path));
  const open = files.filter((path) => isOpenToOthers(statSync(path)));
  if (open.length > 0) {
    const found = `Other users of this machine can read ${open.join(' and ')}.`;
    return [problem('privacy', found, `chmod 600 ${open.join(' ')}`)];
  }
  if (isOpenToOthers(folder)) {
    return [
      warning('privacy', `Other users of this machine can look into ${dataDir}.`, `chmod 700 ${dataDir}`),
    ];
  }
  return [ok('privacy', 'Only its owner can read it.')];
}

function isOpenToOthers({ mode }: Stats): boolean {
  return (mode & 0o077) !== 0;
}

async function freeSpace(folder: string): Promise<Diagnostic> {
  const { bavail, bsize } = await statfs(folder);
  const bytes = bavail * bsize;
  const found = `${Math.floor(bytes / mebibyte)} MiB are free.`;
  const advice = 'Make room: without it no request is served.';
  if (bytes < fullBytes) return problem('free space', found, advice);
  return bytes < scarceBytes ? warning('free space', found, advice) : ok('free space', found);
}
