import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Address, isHealthy } from './address.ts';
import { guarded } from './guard.ts';
import { LastLine } from './last-line.ts';
import { memoryOf } from './memory.ts';

/** How long output may arrive after the end, as a process that left the group may keep the pipes open. */
const outputMsMax = 200;
/** Polls for readiness come often at first, as small programs are ready within milliseconds. */
const [pollMsMin, pollMsMax] = [10, 250];
const measureEveryMs = 1_000;
const mebibyte = 1024 ** 2;

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

/** The shell reports a signal that ended the program as 128 plus its number. */
function reasonOf(status: number | null, signal: NodeJS.Signals | null): string {
  const number = (status ?? 0) - 128;
  const [name = signal] = Object.entries(constants.signals).find(([, value]) => value === number) ?? [];
  return name ?? `status ${status}`;
}
