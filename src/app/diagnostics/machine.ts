/** Checks the machine: data folder, clock, open files, certificate and mail server. */
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmdirSync, type Stats, statSync } from 'node:fs';
import { readFile, statfs } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import type { Config } from '../../config/config.ts';
import { type Diagnostic, graded, ok, problem, warning } from '../../core/values/diagnostics.ts';
import { nearestFolder, workingFolderIsGone } from '../../files/folders.ts';
import { fileReason, systemCode } from '../../files/reason.ts';
import { TlsFilesError, TlsPair } from '../../transports/http/tls-pair.ts';
import { mailSender } from '../alerts.ts';

const mebibyte = 1024 ** 2;
/** With less free space the records of a day may not fit. */
const scarceBytes = 1024 * mebibyte;
const fullBytes = 100 * mebibyte;
const writableByOthers = 0o022;
/** The files with keys or hashes of keys. */
const privateFiles = ['parley.db', 'first-run.json'];
const another = 'another with dataDir or PARLEY_DATA_DIR.';

/** Checks that the folder exists or can be created, is writable and private, and has free space. */
export async function diagnoseDataFolder(dataDir: string): Promise<Diagnostic[]> {
  if (!isAbsolute(dataDir) && workingFolderIsGone()) {
    const advice = 'Change to another, or give an absolute path with dataDir or PARLEY_DATA_DIR.';
    return [problem('folder', 'The current working folder no longer exists.', advice)];
  }
  const nearest = nearestFolder(dataDir);
  const isNew = nearest !== resolve(dataDir);
  const place = isNew ? nearest : dataDir;
  if (!statSync(nearest).isDirectory()) {
    return [problem('folder', `${place} is not a folder.`, `Choose ${another}`)];
  }
  return [writable(dataDir, place, isNew), ...(isNew ? [] : [privacy(dataDir)]), await freeSpace(nearest)];
}

function writable(dataDir: string, place: string, isNew: boolean): Diagnostic {
  try {
    // Permissions are not enough: /proc allows no new folders, and a disk may have no inodes left.
    rmdirSync(mkdtempSync(join(place, '.parley-doctor-')));
    const found = isNew ? 'does not exist yet. The first start creates it.' : 'is writable.';
    return ok('folder', `${dataDir} ${found}`);
  } catch (error) {
    const reason = systemCode(error) === 'ENOENT' ? 'the file system allows none' : fileReason(error);
    const found = `${dataDir} cannot be used: no folder can be created in ${place} (${reason}).`;
    // The folder above belongs to others.
    const own = isNew
      ? `Create it for the user that runs the server: install -d -m 700 -o USER ${dataDir}`
      : `Give it to the user that runs the server: chown -R USER ${dataDir}`;
    return problem('folder', found, `${own}. Or choose ${another}`);
  }
}

/** @param dataDir which exists */
export function privacy(dataDir: string): Diagnostic {
  const folder = statSync(dataDir);
  const isOpenToOthers = ({ mode }: Stats) => (mode & 0o077) !== 0;
  const files = privateFiles.map((name) => join(dataDir, name)).filter((path) => existsSync(path));
  const open = files.filter((path) => isOpenToOthers(statSync(path)));
  const others = 'Other users of this machine can';
  if (open.length > 0) {
    return problem('privacy', `${others} read ${open.join(' and ')}.`, `chmod 600 ${open.join(' ')}`);
  }
  const advice = `chmod 700 ${dataDir}`;
  if ((folder.mode & writableByOthers) !== 0) {
    return problem('privacy', `${others} replace the files in ${dataDir}.`, advice);
  }
  if (isOpenToOthers(folder)) return warning('privacy', `${others} list ${dataDir}.`, advice);
  return ok('privacy', 'Only its owner can read it.');
}

async function freeSpace(folder: string): Promise<Diagnostic> {
  const { bavail, bsize } = await statfs(folder);
  const bytes = bavail * bsize;
  const state = bytes < fullBytes ? 'problem' : bytes < scarceBytes ? 'warning' : 'ok';
  const advice = 'Free some space: on a full disk the server refuses all requests.';
  return graded(state, 'free space', `${Math.floor(bytes / mebibyte)} MiB are free.`, advice);
}

/** @param whyNot why the running server accepts no requests */
export function readiness(whyNot: string | undefined): Diagnostic {
  if (whyNot === undefined) return ok('readiness', 'The running server accepts requests.');
  return problem('readiness', `The running server is not ready: ${whyNot}`, 'Its log says what to do.');
}

/** A clock outside of these years is certainly wrong. */
const [earliestMs, latestMs] = [Date.UTC(2026, 0), Date.UTC(2100, 0)];
/** Two correct clocks may differ by this much. */
const toleranceMs = 5_000;

/** A server writes its database at every change, so one from the future shows a clock that was set back. */
export function diagnoseClock(dataDir: string, nowMs = Date.now()): Diagnostic[] {
  const advice =
    'Set the clock, on most systems with `timedatectl set-ntp true`: plans, months and keys depend on it.';
  const text = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
  const shows = `The clock shows ${text(nowMs)}`;
  if (nowMs < earliestMs || nowMs > latestMs) return [problem('clock', `${shows}.`, advice)];
  const paths = ['parley.db', 'parley.db-wal'].map((name) => join(dataDir, name));
  const changedMs = Math.max(...paths.map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0));
  if (changedMs > nowMs + toleranceMs) {
    return [problem('clock', `${shows}, but the database was written at ${text(changedMs)}.`, advice)];
  }
  return [ok('clock', `${shows}.`)];
}

/**
 * Checks that the limit of open files leaves room for all connections that the configuration allows.
 * @param pid of the running server; undefined if there is none
 */
export function diagnoseOpenFiles({ server, admin }: Config, pid: number | undefined): Diagnostic[] {
  const limitOfServer = pid === undefined ? undefined : openFilesOf(pid);
  const limit = limitOfServer ?? openFilesOf('self') ?? 'an unknown number of';
  const whose = limitOfServer === undefined ? 'A process started here' : 'The running server';
  const connections = server.connectionsMax * (admin ? 2 : 1);
  const state = connections >= Number(limit) ? 'problem' : connections * 2 > Number(limit) ? 'warning' : 'ok';
  const found = `${whose} can open ${limit} files; connectionsMax allows ${connections} connections.`;
  const advice = `Raise the limit to ${connections * 2} (systemd: LimitNOFILE, shell: ulimit -n), or lower server.connectionsMax.`;
  return [graded(state, 'open files', found, advice)];
}

/** The limit of a process, which Node has raised as far as it may; undefined on systems other than Linux. */
function openFilesOf(pid: number | 'self'): string | undefined {
  try {
    const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
    return /^Max open files +(\d+)/m.exec(limits)?.[1];
  } catch {
    return undefined;
  }
}

const dayMs = 86_400_000;
const renewDays = 14;

export async function diagnoseTls({ tls }: Pick<Config, 'tls'>, nowMs = Date.now()): Promise<Diagnostic[]> {
  const subject = 'certificate';
  if (tls === undefined) return [ok(subject, 'None is configured: connections are not encrypted.')];
  try {
    const pair = await TlsPair.open(tls, { onTaken: () => undefined, onRefused: () => undefined });
    pair.close();
  } catch (error) {
    if (!(error instanceof TlsFilesError)) throw error;
    return [problem(subject, error.message, 'Put a certificate and its key there, both as PEM.')];
  }
  const { validFromDate, validToDate } = new X509Certificate(await readFile(tls.cert));
  const day = (date: Date) => date.toISOString().slice(0, 10);
  const advice = `Renew ${tls.cert}. A running server loads the new one by itself.`;
  const leftMs = validToDate.getTime() - nowMs;
  if (leftMs < 0) return [problem(subject, `It expired on ${day(validToDate)}.`, advice)];
  if (validFromDate.getTime() > nowMs) {
    return [problem(subject, `It is valid only from ${day(validFromDate)} on.`, 'Check the clock.')];
  }
  const state = leftMs < renewDays * dayMs ? 'warning' : 'ok';
  return [graded(state, subject, `It is valid until ${day(validToDate)}.`, advice)];
}

export async function diagnoseMail(config: Config): Promise<Diagnostic[]> {
  const failure = await mailSender(config)?.check();
  const { host, user } = config.alerts.smtp ?? {};
  if (failure === undefined) {
    return [ok('mail server', `${host} answers${user === undefined ? '' : ' and takes the login'}.`)];
  }
  return [problem('mail server', `${host}: ${failure}`, 'Correct `alerts.smtp`, or start the mail server.')];
}
