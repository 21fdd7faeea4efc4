import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProgramState } from '../core/entities/server.ts';
import { ParleyError } from '../core/values/errors.ts';
import type { Log } from '../core/values/log.ts';
import { type Signal, untilAborted } from '../core/values/signal.ts';
import { type Address, Child } from './child.ts';

/** Length of `sun_path`, less its zero byte. */
const pathBytesMax = 107;
/** Leaves room for the numbers of a process and of its start. */
const folderBytesMax = 85;

/** Checked, with every default filled in. */
export interface ProgramSettings {
  /** The program and its arguments, in which `{socket}` or `{port}` stands for the place where it must listen. */
  readonly command: readonly string[];
  /** Added to the environment that every program gets. It may have `{socket}` and `{port}` as well. */
  readonly env: Readonly<Record<string, string>>;
  readonly healthPath: string;
  readonly startMs: number;
  /** 0: never ended for being idle. */
  readonly idleMs: number;
  readonly stopMs: number;
  /** Memory that it needs, until more is measured. */
  readonly memoryBytes: number;
  readonly memoryBytesMax?: number | undefined;
  /** One program of a group runs at a time. */
  readonly group?: string | undefined;
}

/** Decides which programs run at the same time. */
interface Admission {
  /** Creates the folder of the sockets. */
  makeSocketDir(): void;
  /** Resolves when the program may start; it then counts as running until `left`. @throws `overloaded` */
  enter(program: Program): Promise<void>;
  /** The program no longer waits or runs. */
  left(program: Program): void;
  /** The program has become idle, or needs more memory than before. */
  changed(): void;
}

interface ProgramDeps {
  /** The engine's name. */
  readonly name: string;
  readonly log: Log;
  /** The environment that every program gets. */
  readonly environment: Readonly<Record<string, string>>;
  readonly socketDir: string;
  readonly admission: Admission;
  /** Runs before each start. A failure is that of the start. */
  readonly check: (() => Promise<void>) | undefined;
}

/** The right to call a running program. While there is one, the program is not ended. */
export interface Lease {
  /** @param hasAnswered whether a call got its whole answer, which shows that the program works */
  release(hasAnswered: boolean): void;
  /** Reports that nothing listens where the program should. Resolves when it has ended, by itself or killed. */
  refused(): Promise<void>;
}

let sockets = 0;
const unloaded = 'an administrator has unloaded it';

/** A program that is started for the first request and ended when it has been idle. All decisions are synchronous. */
export class Program {
  readonly settings: ProgramSettings;
  readonly #deps: ProgramDeps;
  /** Its Unix socket, if the command has `{socket}`. No other program of this machine has the same. */
  readonly socketPath: string | undefined;
  readonly #backoff = new Backoff();
  #child: Child | undefined;
  /** Set from the request that starts it until its end is asked for or has come. */
  #running: Promise<Child> | undefined;
  #port: number | undefined;
  #ending: Promise<void> = Promise.resolve();
  #isReady = false;
  #isRetired = false;
  #isUnloaded = false;
  #calls = 0;
  #waiting = 0;
  #starts = 0;
  #failure: string | undefined;
  #lastUsedAtMs: number | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(settings: ProgramSettings, deps: ProgramDeps) {
    this.settings = settings;
    this.#deps = deps;
    const path = socketPath(deps.socketDir, deps.name, process.pid, ++sockets);
    const texts = [...settings.command, ...Object.values(settings.env)];
    this.socketPath = texts.some((text) => text.includes('{socket}')) ? path : undefined;
  }

  /** Its port, if the command has `{port}`. It may be another one after each start. */
  get port(): number | undefined {
    return this.#port;
  }

  get name(): string {
    return this.#deps.name;
  }

  /** Its memory: expected or measured, whichever is more. */
  get bytes(): number {
    return Math.max(this.settings.memoryBytes, this.#child?.bytes ?? 0);
  }

  /** Whether it is ready and has no calls. */
  get isIdle(): boolean {
    return this.#isReady && this.#calls === 0;
  }

  /** Whether its end was asked for. */
  get isEnding(): boolean {
    return this.#child?.isAsked === true;
  }

  /** 0 if it was never used. */
  get lastUsedAtMs(): number {
    return this.#lastUsedAtMs ?? 0;
  }

  state(): ProgramState {
    return {
      state: this.#stateName(),
      memoryBytes: this.#child?.bytes ?? 0,
      waiting: this.#waiting,
      starts: this.#starts,
      ...(this.#lastUsedAtMs !== undefined && { lastUsedAtMs: this.#lastUsedAtMs }),
      ...(this.#failure !== undefined && { failure: this.#failure }),
    };
  }

  /**
   * Starts the program unless it runs. Release the lease exactly once.
   * @throws `engine_unavailable` if it fails to start or has failed too often; `overloaded` if it gets no memory in
   * time, both with `hasNotRun`; the signal's reason
   */
  async acquire(signal: Signal): Promise<Lease> {
    signal.throwIfAborted();
    this.#calls++;
    this.#waiting++;
    clearTimeout(this.#idleTimer);
    try {
      this.#running ??= this.#start();
      const child = await untilAborted(this.#running, signal);
      return { release: (hasAnswered) => this.#release(hasAnswered), refused: () => this.#refused(child) };
    } catch (error) {
      this.#release(false);
      throw error;
    } finally {
      this.#waiting--;
    }
  }

  /** Asks the program to end, unless it has. A request that comes later starts it again. Resolves when it has ended. */
  async stop(reason: string): Promise<void> {
    const child = this.#child;
    if (child === undefined) this.#giveUp();
    else if (!child.isAsked) {
      this.#running = undefined;
      this.#isReady = false;
      this.#deps.log.info({ engine: this.name, reason }, 'ending the program of an engine');
      child.end(this.settings.stopMs);
    }
    await this.#ending;
  }

  /** Ends the program as soon as it has no calls. The next call after that starts it again. */
  unload(): void {
    if (this.isIdle) void this.stop(unloaded);
    else this.#isUnloaded = this.#running !== undefined;
  }

  /** From now on the program ends as soon as it has no calls. */
  retire(): void {
    this.#isRetired = true;
    if (this.isIdle) void this.stop('the configuration has changed');
  }

  #stateName(): ProgramState['state'] {
    if (this.isEnding) return 'stopping';
    if (this.#isReady) return this.#calls > 0 ? 'busy' : 'ready';
    if (this.#child !== undefined) return 'loading';
    if (this.#running !== undefined) return 'waiting';
    return this.#backoff.waitMs > 0 ? 'failed' : 'stopped';
  }

  #release(hasAnswered: boolean): void {
    this.#calls--;
    this.#lastUsedAtMs = Date.now();
    if (hasAnswered) this.#backoff.worked();
    if (this.#calls > 0) return;
    if (this.isIdle) this.#idle();
    // Nobody waits any longer.
    else if (this.#child === undefined) this.#giveUp();
  }

  /** Ends a start that still waits for memory. */
  #giveUp(): void {
    if (this.#running === undefined) return;
    this.#running = undefined;
    this.#deps.admission.left(this);
  }

  #idle(): void {
    clearTimeout(this.#idleTimer);
    const { idleMs } = this.settings;
    if (this.#isRetired) void this.stop('the configuration has changed');
    else if (this.#isUnloaded) void this.stop(unloaded);
    else if (idleMs > 0) {
      const end = () => void (this.isIdle && this.stop(`idle for ${idleMs} ms`));
      this.#idleTimer = setTimeout(end, idleMs).unref();
    }
    this.#deps.admission.changed();
  }

  #start(): Promise<Child> {
    this.#isUnloaded = false;
    const running: Promise<Child> = this.#begin(() => this.#running === running);
    running.catch(() => {
      if (this.#running === running) this.#running = undefined;
    });
    return running;
  }

  /** @param isWanted whether anyone still waits for this start */
  async #begin(isWanted: () => boolean): Promise<Child> {
    if (this.#backoff.waitMs > 0) throw this.#unavailable();
    await this.#ending;
    if (!isWanted()) throw stopped();
    await this.#deps.admission.enter(this);
    const startedAtMs = performance.now();
    const child = await this.#open(isWanted);
    const isReady = await child.untilReady(this.settings.healthPath, this.settings.startMs);
    if (child.isAsked) throw stopped();
    if (!isReady) {
      await this.#ending;
      throw this.#unavailable();
    }
    this.#isReady = true;
    const ms = Math.round(performance.now() - startedAtMs);
    this.#deps.log.info({ engine: this.name, pid: child.pid, ms }, 'the program of an engine is ready');
    if (this.#calls === 0) this.#idle();
    return child;
  }

  async #open(isWanted: () => boolean): Promise<Child> {
    try {
      await this.#deps.check?.();
      const address = await this.#address();
      if (isWanted()) return this.#spawn(address);
    } catch (cause) {
      if (isWanted()) this.#deps.admission.left(this);
      this.#failure = cause instanceof Error ? cause.message : String(cause);
      this.#backoff.failed(false);
      this.#deps.log.warn({ engine: this.name, err: cause }, 'the program of an engine cannot be started');
      throw this.#unavailable();
    }
    throw stopped();
  }

  async #address(): Promise<Address> {
    if (this.socketPath === undefined) {
      this.#port = await freePort();
      return { port: this.#port };
    }
    this.#deps.admission.makeSocketDir();
    rmSync(this.socketPath, { force: true });
    return { socketPath: this.socketPath };
  }

  #spawn(address: Address): Child {
    const { command, env } = commandFor(this.settings, address);
    const { environment, admission } = this.#deps;
    const child = new Child({ name: this.name, command, env: { ...environment, ...env }, address });
    this.#starts++;
    this.#child = child;
    this.#failure = undefined;
    this.#ending = child.ended.then((reason) => this.#ended(child, reason));
    child.watchMemory(this.settings.memoryBytesMax ?? Infinity, () => admission.changed());
    return child;
  }

  /** Called once for each process, however it ended. */
  #ended(child: Child, reason: string): void {
    const wasReady = this.#isReady;
    clearTimeout(this.#idleTimer);
    this.#child = undefined;
    this.#isReady = false;
    if (this.socketPath !== undefined) rmSync(this.socketPath, { force: true });
    if (!child.isAsked) {
      this.#running = undefined;
      this.#backoff.failed(wasReady);
      this.#failure = [reason, child.lastLine].filter(Boolean).join(': ');
      const { failures, waitMs } = this.#backoff;
      this.#deps.log.warn(
        { engine: this.name, reason, lastLine: child.lastLine, failures, pauseMs: Math.round(waitMs) },
        'the program of an engine ended by itself or was killed',
      );
      // The output of a program that has served may repeat what a client sent, so it stays in the log.
      if (wasReady) this.#failure = reason;
    }
    this.#deps.admission.left(this);
  }

  async #refused(child: Child): Promise<void> {
    const timeUp = sleep(this.settings.stopMs, true, { ref: false });
    const isLate = await Promise.race([timeUp, child.ended.then(() => false)]);
    if (isLate) child.kill('it stopped listening');
    await child.ended;
  }

  #unavailable(): ParleyError {
    return unavailable(this.name, this.#failure ?? 'it ended', this.#backoff.waitMs);
  }
}

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (bound === null || typeof bound === 'string') throw new Error('the system gave no port');
  return bound.port;
}

/** Command and environment of a program that listens at an address. */
function commandFor({ command, env }: ProgramSettings, address: Address) {
  const [place, value] =
    'port' in address ? ['{port}', String(address.port)] : ['{socket}', address.socketPath];
  const written = (text: string) => text.replaceAll(place, value);
  return {
    command: command.map(written),
    env: Object.fromEntries(Object.entries(env).map(([name, text]) => [name, written(text)])),
  };
}

// Requests whose program does not run have not run, so another engine may serve them.

/** The error of a start that was given up. */
function stopped(): ParleyError {
  const message = 'The program of this model is being ended. Try again.';
  return new ParleyError('engine_unavailable', { message, retryAfterSeconds: 1, hasNotRun: true });
}

/** @param waitMs until it may be started again */
function unavailable(name: string, reason: string, waitMs: number): ParleyError {
  return new ParleyError('engine_unavailable', {
    message: `The program of the engine ${name} failed (${reason}). Try again later, or ask the operator.`,
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
    hasNotRun: true,
  });
}

const firstPauseMs = 500;
const pauseMsMax = 60_000;

/**
 * Pauses after failures in a row. A program that worked is started again at once after its first failure; any other
 * pause is twice the one before.
 */
class Backoff {
  #failures = 0;
  #notBeforeMs = 0;

  get failures(): number {
    return this.#failures;
  }

  get waitMs(): number {
    return Math.max(0, this.#notBeforeMs - performance.now());
  }

  /** @param hasWorked whether it was ready before it failed */
  failed(hasWorked: boolean): void {
    this.#failures++;
    const isFirst = hasWorked && this.#failures === 1;
    const pauseMs = isFirst ? 0 : Math.min(firstPauseMs * 2 ** (this.#failures - 1), pauseMsMax);
    this.#notBeforeMs = performance.now() + pauseMs * (0.75 + Math.random() / 4);
  }

  worked(): void {
    this.#failures = 0;
  }
}

export function fitsSockets(folder: string): boolean {
  return Buffer.byteLength(folder) <= folderBytesMax;
}

/** The path of a Unix socket that no other process and no other number has. The name is only for people. */
function socketPath(folder: string, name: string, pid: number, number: number): string {
  const end = `-${pid}-${number}.sock`;
  const room = pathBytesMax - Buffer.byteLength(join(folder, end));
  return join(folder, name.replace(/[^\w.-]/g, '-').slice(0, room) + end);
}

/** The process that a socket in the folder belongs to; undefined for any other file. */
export function socketOwner(file: string): number | undefined {
  const [, pid] = /-(\d+)-\d+\.sock$/.exec(file) ?? [];
  return pid === undefined ? undefined : Number(pid);
}
