/** Runs a command of the command line in this process: the same program without the time to start a process. */
import { Readable, Writable } from 'node:stream';
import { version } from '../../src/app/version.ts';
import { createProgram } from '../../src/cli/program.ts';

interface CommandInput {
  readonly cwd: string | undefined;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly input: string;
}

interface CommandOutput {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/** Thrown where a process would end. */
class Exit extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`exit with ${code}`);
    this.code = code;
  }
}

/** What a command listens to until its process ends. */
const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

let last: Promise<unknown> = Promise.resolve();

/** Commands run one after the other, because each changes the process's streams, folder and environment. */
export function runInProcess(args: readonly string[], input: CommandInput): Promise<CommandOutput> {
  const run = last.then(() => runAlone(args, input));
  last = run.catch(() => undefined);
  return run;
}

async function runAlone(args: readonly string[], { cwd, env, input }: CommandInput): Promise<CommandOutput> {
  const [stdout, stderr] = [new Collector(), new Collector()];
  const restore = replaceProcess({
    stdout,
    stderr,
    stdin: Readable.from([Buffer.from(input)]),
    env: { ...env },
    exit: (code = 0) => {
      throw new Exit(Number(code));
    },
  });
  const heard = signals.flatMap((signal) => process.listeners(signal));
  const [folder, exitCode] = [process.cwd(), process.exitCode];
  process.exitCode = undefined;
  if (cwd !== undefined) process.chdir(cwd);
  try {
    await createProgram(version).parseAsync(['node', 'parley', ...args]);
    return { code: Number(process.exitCode ?? 0), stdout: stdout.bytes, stderr: stderr.bytes };
  } catch (error) {
    if (error instanceof Exit) return { code: error.code, stdout: stdout.bytes, stderr: stderr.bytes };
    stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return { code: 1, stdout: stdout.bytes, stderr: stderr.bytes };
  } finally {
    process.chdir(folder);
    process.exitCode = exitCode;
    for (const signal of signals)
      for (const listener of process.listeners(signal))
        if (!heard.includes(listener)) process.off(signal, listener);
    // A server that ends lets go of the channel to its parent, which is the one of the tests here.
    process.channel?.ref();
    restore();
  }
}

/** Replaces members of `process`; returns a function that restores them. */
function replaceProcess(members: Partial<Record<keyof NodeJS.Process, unknown>>): () => void {
  const names = Object.keys(members) as (keyof NodeJS.Process)[];
  const before = names.map((name) => Object.getOwnPropertyDescriptor(process, name) ?? {});
  for (const name of names) {
    Object.defineProperty(process, name, { configurable: true, writable: true, value: members[name] });
  }
  return () => {
    for (const [index, name] of names.entries()) Object.defineProperty(process, name, before[index] ?? {});
  };
}

class Collector extends Writable {
  readonly #chunks: Buffer[] = [];

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }
}
