/** External programs as children: found on PATH, bounded in memory, killed at once with all that they started. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { basename } from 'node:path';
import { PassThrough, Readable, type Writable } from 'node:stream';

export interface ChildLimits {
  /** Where `prlimit` lies; undefined where the system has none, and the child then runs unbounded. */
  readonly prlimitPath: string | undefined;
  /** Bytes of address space the child may map. */
  readonly addressSpaceBytesMax: number;
}

/** How a child ended. `failure` tells of one that never started. */
export interface ChildEnd {
  readonly exitCode: number | null;
  readonly endSignal: NodeJS.Signals | null;
  readonly failure: Error | undefined;
}

export interface Child {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Undefined where the program could not be started. */
  readonly pid: number | undefined;
  /** Settles once the system has let go of the child; never rejects. */
  readonly ended: Promise<ChildEnd>;
  /** Ends the child and its group with SIGKILL. Harmless when it has ended already. */
  kill(): void;
}

/**
 * The absolute paths of those of `names` that PATH leads to. It asks the system's shell, so that what is found is what
 * an operator finds by typing the name.
 */
export function findPrograms(names: readonly string[]): ReadonlyMap<string, string> {
  const lookup = spawnSync('/bin/sh', ['-c', 'for name; do command -v "$name"; done', 'sh', ...names], {
    encoding: 'utf8',
  });
  const paths = (lookup.stdout ?? '').split('\n').filter((line) => line.startsWith('/'));
  return new Map(paths.map((path) => [basename(path), path]));
}

/**
 * Starts the program at `path` without a shell, in a process group of its own. It inherits nothing of the server's
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
  // A child that dies early breaks its pipes. How it ended says all there is to say of that.
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

/** Of a child that could not be started for want of files it has none: then those say nothing, and take what is written. */
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
  // None of these programs has a file to write. prlimit replaces itself by the program: the child's pid is its own.
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
    // The group may have ended in this very moment; any other reason is a fault of ours.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
