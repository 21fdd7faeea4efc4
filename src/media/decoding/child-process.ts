/** Child processes: found on PATH, limited in memory, killed together with their own children. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { basename } from 'node:path';
import { PassThrough, Readable, type Writable } from 'node:stream';

interface ChildLimits {
  /** Path of `prlimit`; undefined where the system has none, and the child then runs without limits. */
  readonly prlimitPath: string | undefined;
  /** Bytes of address space the child may map. */
  readonly addressSpaceBytesMax: number;
}

/** How a child ended. `failure` is set if it did not start. */
export interface ChildEnd {
  readonly exitCode: number | null;
  readonly endSignal: NodeJS.Signals | null;
  readonly failure: Error | undefined;
}

export interface Child {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Undefined if the program did not start. */
  readonly pid: number | undefined;
  /** Resolves when the child has exited; never rejects. */
  readonly ended: Promise<ChildEnd>;
  /** Kills the child and its process group with SIGKILL. Does nothing once it has ended. */
  kill(): void;
}

/**
 * The absolute paths of those `names` that are found on PATH. The system's shell looks them up, so that the result is
 * the same as an operator's.
 */
export function findPrograms(names: readonly string[]): ReadonlyMap<string, string> {
  const lookup = spawnSync('/bin/sh', ['-c', 'for name; do command -v "$name"; done', 'sh', ...names], {
    encoding: 'utf8',
  });
  const paths = (lookup.stdout ?? '').split('\n').filter((line) => line.startsWith('/'));
  return new Map(paths.map((path) => [basename(path), path]));
}

/**
 * Starts the program at `path` without a shell, in a process group of its own. It does not inherit the server's
 * environment: a decoder that a hostile file has taken over finds no secrets there.
 */
export function startChild(path: string, args: readonly string[], limits: ChildLimits): Child {
  const [program, programArgs] = withLimits(path, args, limits);
  const child = spawn(program, programArgs, { detached: true, env: { LC_ALL: 'C' }, stdio: 'pipe' });
  let hasEnded = false;
  const ended = endOf(child).finally(() => {
    hasEnded = true;
  });
  const { stdin, stdout, stderr } = pipesOf(child);
  // A child that dies early breaks its pipes; `ended` reports it.
  for (const stream of [stdin, stdout, stderr]) stream.on('error', () => {});
  return {
    stdin,
    stdout,
    stderr,
    pid: child.pid,
    ended,
    kill: () => {
      if (!hasEnded && child.pid !== undefined) killGroup(child.pid);
    },
  };
}

/** A child that did not start for lack of file descriptors has no pipes: use empty ones. */
function pipesOf({
  stdin,
  stdout,
  stderr,
}: Partial<ChildProcess>): Pick<Child, 'stdin' | 'stdout' | 'stderr'> {
  return {
    stdin: stdin ?? new PassThrough().resume(),
    stdout: stdout ?? Readable.from([]),
    stderr: stderr ?? Readable.from([]),
  };
}

function withLimits(path: string, args: readonly string[], limits: ChildLimits): [string, string[]] {
  if (limits.prlimitPath === undefined) return [path, [...args]];
  // None of these programs writes files. prlimit replaces itself with the program, so the child's pid stays right.
  return [
    limits.prlimitPath,
    [`--as=${limits.addressSpaceBytesMax}`, '--fsize=0', '--core=0', '--', path, ...args],
  ];
}

function endOf(child: ChildProcess): Promise<ChildEnd> {
  return new Promise((resolve) => {
    child.once('error', (failure) => resolve({ exitCode: null, endSignal: null, failure }));
    child.once('exit', (exitCode, endSignal) => resolve({ exitCode, endSignal, failure: undefined }));
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // The group may have just ended; any other error is a bug.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
