/** Runs the command line like a person or a script: as a separate process. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { runInProcess } from './command-in-process.ts';
import { compileCache } from './compile-cache.ts';

const executable = process.env['PARLEY_TEST_PROGRAM'];
const root = new URL('../..', import.meta.url).pathname;
let built: readonly [string, ...string[]] | undefined;

/** The words that start the program: from dist/, which starts faster than the sources, or the executable in PARLEY_TEST_PROGRAM (test/slow/binary.test.ts). */
export function programWords(): readonly [string, ...string[]] {
  if (executable !== undefined) return [executable];
  built ??= builtWords();
  return built;
}

/** Builds what has changed, in a process that is waited for, as tests start the program without waiting. */
function builtWords(): readonly [string, ...string[]] {
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'test/support/build.ts')]);
  if (status !== 0) throw new Error(`The program could not be built. ${stderr}`);
  return [process.execPath, join(root, 'dist/src/main.js')];
}

export interface RunOptions {
  readonly cwd?: string;
  /** The environment, besides PATH and HOME. */
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Milliseconds after which the process is killed. Default: never */
  readonly timeoutMs?: number;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

function environment(env: RunOptions['env'] = {}): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env;
  return { PATH, HOME, NODE_COMPILE_CACHE: compileCache, ...env };
}

/** Starts the program; standard input stays open. */
export function startParley(args: readonly string[], { cwd, env, timeoutMs }: RunOptions = {}): ChildProcess {
  const limit = timeoutMs === undefined ? {} : ({ timeout: timeoutMs, killSignal: 'SIGKILL' } as const);
  const [program, ...before] = programWords();
  return spawn(program, [...before, ...args], { cwd, env: environment(env), ...limit });
}

/** Runs a script of the shell, in which "$@" is the program. */
export function inShell(script: string, options: RunOptions = {}): Promise<Ended> {
  const { file, args, env, cwd } = shellCommand(script, [], options);
  const limit = { timeout: options.timeoutMs ?? 170_000, killSignal: 'SIGKILL' } as const;
  return ended(spawn(file, args, { cwd, env, ...limit }));
}

/** The same as arguments for spawn. `args` follow the program in "$@". */
export function shellCommand(script: string, args: readonly string[], { cwd, env }: RunOptions) {
  return {
    file: '/bin/sh',
    args: ['-c', script, 'sh', ...programWords(), ...args],
    cwd,
    env: environment(env),
  };
}

/** The end of a running child. */
export async function ended(child: ChildProcess): Promise<Ended> {
  const exit = new Promise<Pick<Ended, 'code' | 'signal'>>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const [stdout, stderr] = await Promise.all([readAll(child.stdout), readAll(child.stderr)]);
  return { ...(await exit), stdout, stderr };
}

async function readAll(stream: NodeJS.ReadableStream | null): Promise<string> {
  return stream === null ? '' : text(stream);
}

/** Runs a command as a separate process to its end. */
export function parleyProcess(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const child = startParley(args, options);
  child.stdin?.end(options.input ?? '');
  return ended(child);
}

/** Runs a command to its end, also a `serve` that is refused: in this process, unless the executable is under test. */
export async function parley(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  if (executable !== undefined) return parleyProcess(args, options);
  const { cwd, env, input = '' } = options;
  const { code, stdout, stderr } = await runInProcess(args, { cwd, env: environment(env), input });
  return { code, signal: null, stdout: `${stdout}`, stderr: `${stderr}` };
}

/** The same, with its standard output as bytes. */
export async function parleyBytes(args: readonly string[], options: RunOptions = {}): Promise<Buffer> {
  const child = startParley(args, options);
  child.stdin?.end(options.input ?? '');
  const chunks: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk));
  await new Promise((resolve) => child.once('close', resolve));
  return Buffer.concat(chunks);
}

/** The output of a command that must succeed. */
export async function printed(args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await parley(args, options);
  if (code !== 0) throw new Error(`parley ${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
}

/** The only JSON document that a command has printed. */
export async function printedJson<T>(args: readonly string[], options: RunOptions = {}): Promise<T> {
  return JSON.parse(await printed([...args, '--json'], options));
}

export interface Serving {
  readonly baseUrl: string;
  readonly pid: number;
  stdout(): string;
  stderr(): string;
  isRunning(): boolean;
  kill(signal: NodeJS.Signals): void;
  /** Resolves when the server has ended. */
  readonly ended: Promise<Pick<Ended, 'code' | 'signal'>>;
  /** Stops the server if it runs. */
  close(): Promise<void>;
  /** Kills the server if it runs. */
  end(): Promise<void>;
}

/** Starts `parley serve` on a free port and waits until it listens. */
export async function serve(args: readonly string[], options: RunOptions = {}): Promise<Serving> {
  const child = startParley(['serve', '--port', '0', ...args], options);
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout += chunk;
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk;
  });
  const end = new Promise<Pick<Ended, 'code' | 'signal'>>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  await Promise.race([end, until(() => stderr.includes('listening on '))]);
  const baseUrl = /"baseUrl":"([^"]+)"/.exec(stderr)?.[1];
  if (baseUrl === undefined || child.pid === undefined) throw new Error(`serve did not start: ${stderr}`);
  return {
    baseUrl,
    pid: child.pid,
    stdout: () => stdout,
    stderr: () => stderr,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    kill: (signal) => child.kill(signal),
    ended: end,
    close: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      await end;
    },
    end: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await end;
    },
  };
}

/** Resolves once the condition is true. */
export async function until(holds: () => boolean | Promise<boolean>, msMax = 120_000): Promise<void> {
  const deadline = Date.now() + msMax;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`waited in vain: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export interface Folder {
  readonly path: string;
  file(name: string): string;
  remove(): void;
}

export function scratchFolder(): Folder {
  const path = mkdtempSync(join(tmpdir(), 'parley-cli-'));
  return { path, file: (name) => join(path, name), remove: () => rmSync(path, { recursive: true }) };
}

/** The reason why a test at a terminal cannot run here; undefined if it can. */
export const noTerminal =
  spawnSync('script', ['--version']).error === undefined
    ? undefined
    : 'the program `script`, which lends a terminal, is not installed';

export interface AtTerminal {
  type(keys: string): void;
  /** The text on the terminal so far, data and status alike. */
  shown(): string;
  readonly ended: Promise<number | null>;
}

/** Runs the program at a terminal, which `script` provides. */
export function parleyAtTerminal(args: readonly string[], { cwd, env }: RunOptions = {}): AtTerminal {
  const { PATH = '', ...variables } = environment({ SHELL: '/bin/sh', TERM: 'xterm', ...env });
  // `script` itself is found on the path of the tests.
  const words = ['env', `PATH=${PATH}`, ...programWords(), ...args];
  const command = words.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' ');
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    cwd,
    env: { ...variables, PATH: process.env['PATH'] },
  });
  let shown = '';
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk;
  });
  return {
    type: (keys) => child.stdin.write(keys),
    shown: () => shown,
    ended: new Promise((resolve) => child.once('close', (code) => resolve(code))),
  };
}

export interface ServingAtTerminal {
  /** The whole output, including its log. */
  readonly shown: string;
  /** Ends the program by Ctrl-C. */
  close(): Promise<void>;
}

/** Starts `parley serve` at a terminal, on a free port, and waits until it listens. */
export async function serveAtTerminal(
  args: readonly string[],
  options: RunOptions = {},
): Promise<ServingAtTerminal> {
  const server = parleyAtTerminal(['serve', '--port', '0', ...args], options);
  await until(() => server.shown().includes('listening on '));
  const close = async () => {
    server.type('\x03');
    await server.ended;
  };
  return { shown: server.shown().replaceAll('\r\n', '\n'), close };
}
