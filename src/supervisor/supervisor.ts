import { randomUUID } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ParleyError } from '../core/values/errors.ts';
import type { Log } from '../core/values/log.ts';
import { isAlive } from '../files/executable.ts';
import { makeFolder } from '../files/folders.ts';
import { fitsSockets, Program, type ProgramSettings, socketOwner } from './program.ts';

interface SupervisorOptions {
  readonly log: Log;
  /** Memory for all programs together. */
  readonly memoryBytesMax: number;
  /** How long a program may wait for memory, or for another program of its group. Default: a minute. */
  readonly memoryWaitMs?: number;
  /** The folder of sockets, created when a program needs it. One with a long path is replaced by a temporary one. */
  readonly socketDir: string;
  /** The environment that every program gets. */
  readonly environment: Readonly<Record<string, string>>;
}

interface Waiting {
  readonly program: Program;
  readonly timer: NodeJS.Timeout;
  enter(): void;
  fail(error: ParleyError): void;
}

/**
 * Lets programs run together as long as their memory fits. For one that has requests, those that have none end, the least
 * recently used first. Waiting programs enter in the order in which they came, unless a later one fits and an earlier
 * one does not.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #socketDir: string;
  readonly #running = new Set<Program>();
  #waiting: readonly Waiting[] = [];
  #hasFolder = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    const { socketDir } = options;
    const name = `parley-${randomUUID()}`;
    // The path of the temporary folder may be long, too.
    const folders = [socketDir, join(tmpdir(), name)];
    this.#socketDir = folders.find(fitsSockets) ?? join('/tmp', name);
  }

  /**
   * @param name the engine's name. Two programs may have the same during a reload.
   * @param check runs before each start, and throws if the program must not start
   */
  open(name: string, settings: ProgramSettings, check?: () => Promise<void>): Program {
    const { log, environment } = this.#options;
    const socketDir = this.#socketDir;
    return new Program(settings, { name, log, environment, socketDir, admission: this, check });
  }

  /** Also removes the sockets of processes that were killed. */
  makeSocketDir(): void {
    if (this.#hasFolder) return;
    makeFolder(this.#socketDir, 0o700);
    const isOwn = this.#socketDir === this.#options.socketDir;
    if (!isOwn) process.once('exit', () => rmSync(this.#socketDir, { recursive: true, force: true }));
    for (const file of readdirSync(this.#socketDir)) {
      const pid = socketOwner(file);
      if (pid !== undefined && !isAlive(pid)) rmSync(join(this.#socketDir, file), { force: true });
    }
    this.#hasFolder = true;
  }

  enter(program: Program): Promise<void> {
    const { memoryBytesMax, memoryWaitMs = 60_000 } = this.#options;
    if (program.settings.memoryBytes > memoryBytesMax) return Promise.reject(tooLarge(program));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#waiting = this.#waiting.filter((one) => one.program !== program);
      reject(noMemory(program));
    }, memoryWaitMs).unref();
    this.#waiting = [...this.#waiting, { program, timer, enter: resolve, fail: reject }];
    this.changed();
    return promise;
  }

  left(program: Program): void {
    this.#running.delete(program);
    for (const { timer, fail } of this.#waiting.filter((one) => one.program === program)) {
      clearTimeout(timer);
      fail(noMemory(program));
    }
    this.#waiting = this.#waiting.filter((one) => one.program !== program);
    this.changed();
  }

  changed(): void {
    for (const one of this.#waiting) {
      if (!this.#makeRoom(one.program)) continue;
      clearTimeout(one.timer);
      this.#waiting = this.#waiting.filter((other) => other !== one);
      this.#running.add(one.program);
      one.enter();
    }
    // Programs that have grown may take more than there is.
    this.#end(this.#victims(undefined) ?? []);
  }

  /** Whether the program fits now. If not, ends what makes it fit, unless even that would not be enough. */
  #makeRoom(program: Program): boolean {
    const others = [...this.#running];
    const isFree = others.every(({ settings }) => !sharesGroup(settings, program.settings));
    if (isFree && sum(others) + program.bytes <= this.#options.memoryBytesMax) return true;
    this.#end(this.#victims(program) ?? []);
    return false;
  }

  /** The idle programs that must end for another; undefined if even all of them are not enough. */
  #victims(wanted: Program | undefined): readonly Program[] | undefined {
    const staying = [...this.#running].filter(({ isEnding }) => !isEnding);
    const inGroup = staying.filter(({ settings }) => wanted && sharesGroup(settings, wanted.settings));
    if (inGroup.some(({ isIdle }) => !isIdle)) return undefined;
    const idle = staying.filter((one) => one.isIdle && !inGroup.includes(one));
    const victims = [...inGroup];
    let over = sum(staying) + (wanted?.bytes ?? 0) - sum(inGroup) - this.#options.memoryBytesMax;
    for (const one of idle.sort((a, b) => a.lastUsedAtMs - b.lastUsedAtMs)) {
      if (over <= 0) break;
      victims.push(one);
      over -= one.bytes;
    }
    return over > 0 && wanted ? undefined : victims;
  }

  #end(programs: readonly Program[]): void {
    for (const program of programs) void program.stop('another program needs its memory');
  }
}

function sharesGroup(one: ProgramSettings, other: ProgramSettings): boolean {
  return one.group !== undefined && one.group === other.group;
}

function sum(programs: readonly Program[]): number {
  return programs.reduce((total, { bytes }) => total + bytes, 0);
}

function tooLarge({ name }: Program): ParleyError {
  const message = `The engine ${name} needs more memory than all programs may take. Only the operator can fix that.`;
  return new ParleyError('engine_unavailable', { message, hasNotRun: true });
}

function noMemory({ name }: Program): ParleyError {
  const message = `Other models keep the memory that the engine ${name} needs. Wait, then try again.`;
  return new ParleyError('overloaded', { message, retryAfterSeconds: 5, hasNotRun: true });
}
