import { ConsoleStdout, File, OpenFile, PreopenDirectory, WASI } from '@bjorn3/browser_wasi_shim';
import { readFlite } from './wasm-file.ts';

/** Reads flite and compiles it: some 60 ms for 21 MB. Threads that compile the same bytes share the code in V8. */
export async function compileFlite(): Promise<WebAssembly.Module> {
  return WebAssembly.compile(await readFlite());
}

/**
 * The read-only part of the module's memory, nearly all of it: the voices. It is the first data segment of the pinned version; a test
 * compares it with the module.
 */
export const constants = { start: 1024, end: 17_087_080 } as const;

interface FliteRun {
  readonly stdout: string;
  /** Content of the file `out.wav`, if the arguments name that file. */
  readonly wav: Uint8Array | undefined;
}

/** The output file that a run returns. */
export const wavFileName = 'out.wav';

/** Larger instances are not kept. Prose takes 24 MB, gibberish up to 67. */
const keptBytesMax = 32 * 1024 * 1024;

/**
 * The flite program. Every run starts with the memory of a new instance. Restoring the last instance takes less than 1
 * ms; making a new one takes 11 ms, a fourth of the time for a short sentence.
 */
export class FliteProgram {
  readonly #module: WebAssembly.Module;
  #instance: FliteInstance | undefined;

  constructor(module: WebAssembly.Module) {
    this.#module = module;
  }

  /**
   * Runs flite once, and blocks until it is done: about a millisecond a letter. Arguments must be printable ASCII, as
   * the shim miscounts other bytes. Pass text after `-t`: `-f` would split it with pauses. Throws if flite traps or
   * exits with an error.
   */
  run(args: readonly string[]): FliteRun {
    if (!args.every((arg) => /^[\x20-\x7e]*$/.test(arg))) throw new Error('flite takes printable ASCII only');
    const instance = this.#instance ?? new FliteInstance(this.#module);
    // A run that throws leaves its stack behind, so the instance is not used again.
    this.#instance = undefined;
    const run = instance.run(args);
    if (instance.bytes <= keptBytesMax) this.#instance = instance;
    return run;
  }
}

/**
 * An instance that runs more than once. Its memory is restored before each further run, but for the constants, which no run changes.
 * Memory only grows; the added part is filled with zeros, like new memory.
 */
class FliteInstance {
  readonly #wasi = new WASI([], [], [], { debug: false });
  readonly #exports: { readonly memory: WebAssembly.Memory; readonly _start: () => unknown };
  /** The new memory before and behind the constants. */
  readonly #before: Uint8Array;
  readonly #behind: Uint8Array;
  #isNew = true;

  constructor(module: WebAssembly.Module) {
    const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: this.#wasi.wasiImport });
    this.#exports = commandExports(instance);
    const { buffer } = this.#exports.memory;
    this.#before = new Uint8Array(buffer.slice(0, constants.start));
    this.#behind = new Uint8Array(buffer.slice(constants.end));
  }

  get bytes(): number {
    return this.#exports.memory.buffer.byteLength;
  }

  run(args: readonly string[]): FliteRun {
    if (!this.#isNew) this.#restore();
    this.#isNew = false;
    const [stdout, stderr] = [new Output(), new Output()];
    const folder = new PreopenDirectory('.', new Map());
    this.#wasi.args = ['flite', ...args];
    this.#wasi.fds = [new OpenFile(new File([])), stdout.file, stderr.file, folder];
    const exitCode = this.#wasi.start({ exports: this.#exports });
    if (exitCode !== 0) throw new Error(`flite ended with ${exitCode}: ${stderr.text}`);
    const file = folder.dir.contents.get(wavFileName);
    return { stdout: stdout.text, wav: file instanceof File ? file.data : undefined };
  }

  #restore(): void {
    const memory = new Uint8Array(this.#exports.memory.buffer);
    memory.set(this.#before);
    memory.set(this.#behind, constants.end);
    memory.fill(0, constants.end + this.#behind.length);
  }
}

class Output {
  readonly #decoder = new TextDecoder();
  text = '';
  readonly file = new ConsoleStdout((bytes) => {
    this.text += this.#decoder.decode(bytes);
  });
}

function commandExports(instance: WebAssembly.Instance) {
  const { memory, _start: start } = instance.exports;
  if (!(memory instanceof WebAssembly.Memory) || typeof start !== 'function') {
    throw new Error('the flite module is not a WASI command');
  }
  return { memory, _start: () => start() };
}
