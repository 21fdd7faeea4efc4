import { type ChildProcess, spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { get } from 'node:http';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

/** How long output may arrive after the end, as a process that left the group may keep the pipes open. */
const outputMsMax = 200;
/** Polls for readiness come often at first, as small programs are ready within milliseconds. */
const [pollMsMin, pollMsMax] = [10, 250];
const measureEveryMs = 1_000;
const healthMsMax = 1_000;
const mebibyte = 1024 ** 2;

/** Where a program listens: a Unix socket, or a port of 127.0.0.1. */
export type Address = { readonly socketPath: string } | { readonly port: number };

interface ChildOptions {
  /** The engine's name, which the shell shows in its errors. */
  readonly name: string;
  readonly command: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Where it will listen. */
  readonly address: Address;
}

/** One run of a program, from its start to its end, with everything that it starts. */
export class Child {
  /** Resolves with the reason, such as `status 3`, once the process has ended. Its descendants are killed by then. */
  readonly ended: Promise<string>;
  readonly #process: ChildProcess;
  readonly #env: Readonly<Record<string, string>>;
  readonly #errors: LastLine | undefined;
  readonly #output: LastLine | undefined;
  readonly #address: Address;
  #isAsked = false;
  #hasEnded = false;
  #bytes = 0;
  #killReason: string | undefined;

  constructor({ name, command, env, address }: ChildOptions) {
    this.#env = env;
    this.#address = address;
    // A group of its own, so that all of it can be ended at once.
    this.#process = spawn('/bin/sh', guarded(name, command), { detached: true, stdio: 'pipe', env });
    const { stdin, stdout, stderr } = this.#process;
    stdin?.on('error', () => undefined);
    this.#errors = stderr ? new LastLine(stderr) : undefined;
    this.#output = stdout ? new LastLine(stdout) : undefined;
    this.ended = this.#end();
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Whether its end was asked for, as opposed to a crash. */
  get isAsked(): boolean {
    return this.#isAsked;
  }

  /** Its memory as last measured; 0 before. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The last line of its errors, else of its output. */
  get lastLine(): string {
    return this.#errors?.text(this.#env) || this.#output?.text(this.#env) || '';
  }

  /** Resolves with whether it became ready. Kills a program that is late. */
  async untilReady(healthPath: string, startMs: number): Promise<boolean> {
    const late = AbortSignal.timeout(startMs);
    for (let pollMs = pollMsMin; !this.#hasEnded; pollMs = Math.min(pollMs * 1.2, pollMsMax)) {
      if (await isHealthy(this.#address, healthPath)) return !this.#hasEnded;
      if (late.aborted) this.kill(`it was not ready within ${startMs} ms`);
      await Promise.race([this.ended, sleep(pollMs)]);
    }
    return false;
  }

  /** Measures its memory until it ends, and kills it if it takes too much. @param onMeasured called each time */
  watchMemory(bytesMax: number, onMeasured: () => void): void {
    const timer = setInterval(async () => {
      const bytes = this.pid === undefined ? undefined : await memoryOf(this.pid);
      if (bytes === undefined || this.#hasEnded) return;
      this.#bytes = bytes;
      if (bytes > bytesMax) {
        const [used, max] = [bytes, bytesMax].map((size) => Math.round(size / mebibyte));
        this.kill(`it took ${used} MiB of memory, more than the ${max} of memoryBytesMax`);
      }
      onMeasured();
    }, measureEveryMs).unref();
    void this.ended.then(() => clearInterval(timer));
  }

  /** Asks the program to end, and kills it after a time. */
  end(graceMs: number): void {
    this.#isAsked = true;
    this.#signal('SIGTERM');
    const timer = setTimeout(() => this.#signal('SIGKILL'), graceMs);
    void this.ended.then(() => clearTimeout(timer));
  }

  /** Ends a program that does not work. @param reason replaces that of `ended` */
  kill(reason: string): void {
    this.#killReason = reason;
    this.#signal('SIGKILL');
  }

  async #end(): Promise<string> {
    const exited = new Promise<string>((resolve) => {
      this.#process.once('error', ({ message }) => resolve(message));
      this.#process.once('exit', (status, signal) => resolve(reasonOf(status, signal)));
    });
    const closed = new Promise((resolve) => this.#process.once('close', resolve));
    const reason = await exited;
    this.#signal('SIGKILL');
    await Promise.race([closed, sleep(outputMsMax)]);
    this.#hasEnded = true;
    return this.#killReason ?? reason;
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.pid === undefined) return;
    try {
      process.kill(-this.pid, signal);
    } catch {
      // Nothing is left of the group.
    }
  }
}

/** Whether the health path answers 2xx. */
function isHealthy(address: Address, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(
      { host: '127.0.0.1', ...address, path, agent: false, timeout: healthMsMax },
      (response) => {
        const { statusCode = 0 } = response;
        response.destroy();
        resolve(statusCode >= 200 && statusCode < 300);
      },
    );
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}

/** The shell reports a signal that ended the program as 128 plus its number. */
function reasonOf(status: number | null, signal: NodeJS.Signals | null): string {
  const number = (status ?? 0) - 128;
  const [name = signal] = Object.entries(constants.signals).find(([, value]) => value === number) ?? [];
  return name ?? `status ${status}`;
}

/**
 * Memory of a process and its descendants, in bytes. Pages that several processes share count once, so weights that are
 * mapped into memory do too. Undefined where the system does not report it.
 */
async function memoryOf(pid: number): Promise<number | undefined> {
  const sizes = await Promise.all((await withDescendants(pid)).map(proportionalBytes));
  const known = sizes.filter((size) => size !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, size) => sum + size, 0);
}

async function withDescendants(pid: number): Promise<number[]> {
  const children = await childrenOf(pid);
  return [pid, ...(await Promise.all(children.map(withDescendants))).flat()];
}

/** Each thread has a list of the processes that it started. */
async function childrenOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(threads.map((thread) => textOf(`/proc/${pid}/task/${thread}/children`)));
  return lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number));
}

async function proportionalBytes(pid: number): Promise<number | undefined> {
  const [, kibibytes] = /^Pss:\s+(\d+)/m.exec(await textOf(`/proc/${pid}/smaps_rollup`)) ?? [];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

/** Empty if the process has ended. */
function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}

/**
 * Runs a program under a shell that ends it with everything it started when Parley is gone in any way: the standard
 * input of the shell then ends.
 */

/** Programs are killed before Parley when the memory of the machine runs out. The range is -1000 to 1000. */
const oomScore = 600;

const script = `
{ echo ${oomScore} > /proc/self/oom_score_adj; } 2>/dev/null
# A command in the background gets /dev/null as its standard input, so the watch reads a copy.
exec 3<&0
# An empty trap would be inherited, and the program could not be asked to end.
trap : TERM
"$@" 3<&- </dev/null &
program=$!
(trap '' TERM; read -r _ <&3; kill -KILL 0) >/dev/null 2>&1 &
watch=$!
# The shell would write about the signal that ended the program.
wait $program 2>/dev/null
status=$?
# A signal ends the wait as well.
while kill -0 $program 2>/dev/null; do
  wait $program 2>/dev/null
  status=$?
done
kill -KILL $watch 2>/dev/null
exit $status
`;

/** Arguments of /bin/sh. The shell exits with the status of the program, or 128 plus the signal that ended it. */
function guarded(name: string, command: readonly string[]): readonly string[] {
  return ['-c', script, name, ...command];
}

/** Only the end of a line that never ends is kept. */
const unfinishedCharactersMax = 4_096;
const shownCharactersMax = 300;
/** Shorter values are too common to be secrets. */
const secretCharactersMin = 8;

/** Keeps the last line of a program's output that is not blank. */
class LastLine {
  #rest = '';
  #line = '';

  /** Reads the stream to its end, so that the program is never blocked. */
  constructor(stream: Readable) {
    stream.setEncoding('utf8').on('data', (text: string) => this.#add(text));
  }

  /** As one short printable line. Values of `env` are replaced by their names, as they may be secrets. */
  text(env: Readonly<Record<string, string>>): string {
    let shown = this.#rest.trim() || this.#line;
    for (const [name, value] of Object.entries(env)) {
      if (value.length >= secretCharactersMin) shown = shown.replaceAll(value, `$${name}`);
    }
    return shown
      .replace(/\p{C}+/gu, ' ')
      .trim()
      .slice(0, shownCharactersMax);
  }

  #add(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = (lines.pop() ?? '').slice(-unfinishedCharactersMax);
    this.#line =
      lines.findLast((line) => line.trim() !== '')?.slice(0, unfinishedCharactersMax) ?? this.#line;
  }
}
