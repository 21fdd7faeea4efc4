import { ConsoleStdout, File, OpenFile, PreopenDirectory, WASI } from '@bjorn3/browser_wasi_shim';
import type { FliteModule } from './module.ts';
import { ReusedMemory } from './reused-memory.ts';

export interface FliteRun {
  readonly stdout: string;
  /** What was written to the file `out.wav`, where the arguments name it. */
  readonly wav: Uint8Array | undefined;
}

/** The name of the file that a run gives back. */
export const wavFileName = 'out.wav';

/** Prose takes 24 MB. Gibberish takes up to 67, which would stay. */
const keptBytesMax = 32 * 1024 * 1024;

/**
 * The flite program. Each run begins in the memory of a new instance, of which the last one's is made again: making an
 * instance takes 11 ms, a fourth of what a short sentence does, and this less than one.
 */
export class FliteProgram {
  readonly #module: FliteModule;
  #instance: FliteInstance | undefined;

  constructor(module: FliteModule) {
    this.#module = module;
  }

  /**
   * Runs it once, and blocks until it is done: a millisecond a letter or so.
   * Arguments are printable ASCII: the shim sizes their memory by UTF-16 units and then writes UTF-8. Text goes behind
   * `-t`, which takes whatever follows it, `-lv` too, as the text; `-f` would split it into utterances with pauses of its own.
   * Throws where flite traps or exits with anything but 0.
   */
  run(args: readonly string[]): FliteRun {
    if (!args.every((arg) => /^[\x20-\x7e]*$/.test(arg))) throw new Error('flite takes printable ASCII only');
    const instance = this.#instance ?? new FliteInstance(this.#module);
    // One that breaks off leaves its stack as it was then: it is not used again.
    this.#instance = undefined;
    const run = instance.run(args);
    if (instance.bytes <= keptBytesMax) this.#instance = instance;
    return run;
  }
}

class FliteInstance {
  readonly #wasi = new WASI([], [], [], { debug: false });
  readonly #exports: { readonly memory: WebAssembly.Memory; readonly _start: () => unknown };
  readonly #memory: ReusedMemory;

  constructor({ module, constants }: FliteModule) {
    const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: this.#wasi.wasiImport });
    this.#exports = commandExports(instance);
    this.#memory = new ReusedMemory(this.#exports.memory, constants);
  }

  get bytes(): number {
    return this.#exports.memory.buffer.byteLength;
  }

  run(args: readonly string[]): FliteRun {
    this.#memory.begin();
    const [stdout, stderr] = [new Output(), new Output()];
    const folder = new PreopenDirectory('.', new Map());
    this.#wasi.args = ['flite', ...args];
    this.#wasi.fds = [new OpenFile(new File([])), stdout.file, stderr.file, folder];
    const exitCode = this.#wasi.start({ exports: this.#exports });
    if (exitCode !== 0) throw new Error(`flite ended with ${exitCode}: ${stderr.text}`);
    const file = folder.dir.contents.get(wavFileName);
    return { stdout: stdout.text, wav: file instanceof File ? file.data : undefined };
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
