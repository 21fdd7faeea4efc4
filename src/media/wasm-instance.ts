/**
 * Instances of WebAssembly modules without a system: no files, network or clock. They see only the memory that they are
 * given.
 */
import { readModule } from './hearing-files.ts';

/** WASI's code for a file that is not open: there are no files. */
const noFile = 8;

type Imports = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** An instance with its memory and its functions, which take and return numbers. */
export class WasmInstance {
  readonly #memory: WebAssembly.Memory;
  readonly #exports: Readonly<Record<string, unknown>>;

  /** Throws if the module exports no memory. */
  constructor(module: WebAssembly.Module, imports: Imports = {}) {
    const { exports } = new WebAssembly.Instance(module, { wasi_snapshot_preview1: noSystem, ...imports });
    if (!(exports['memory'] instanceof WebAssembly.Memory)) throw new Error('the module exports no memory');
    this.#memory = exports['memory'];
    this.#exports = exports;
  }

  /** The current memory. A later call may grow it, which leaves this view empty. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#memory.buffer);
  }

  /** Grows the memory to at least this many bytes. */
  growTo(bytes: number): void {
    const missing = bytes - this.#memory.buffer.byteLength;
    if (missing > 0) this.#memory.grow(Math.ceil(missing / 65_536));
  }

  call(name: string, ...args: readonly number[]): number {
    const run = this.#exports[name];
    if (typeof run !== 'function') throw new Error(`the module has no function ${name}`);
    return Number(run(...args) ?? 0);
  }

  /** Copies numbers into the memory. */
  write({ buffer, byteOffset, byteLength }: Float32Array | Int16Array, pointer: number): void {
    this.bytes.set(new Uint8Array(buffer, byteOffset, byteLength), pointer);
  }

  /** Copies `count` samples out of the memory. */
  samplesAt(pointer: number, count: number): Int16Array<ArrayBuffer> {
    return new Int16Array(this.#memory.buffer, pointer, count).slice();
  }

  textAt(pointer: number): string {
    const { bytes } = this;
    return Buffer.from(bytes.subarray(pointer, bytes.indexOf(0, pointer))).toString('utf8');
  }
}

/** Answers every system call. After `proc_exit` a module runs into the trap that compilers put there. */
const noSystem = new Proxy<Record<string, () => number>>({}, { get: () => () => noFile });

type ModuleName = 'decoder' | 'recogniser';

const compiled = new Map<ModuleName, Promise<WebAssembly.Module>>();

/**
 * The module of the recogniser or decoder, compiled at its first use. Threads get it by message and share its code.
 * Rejects while its file is missing; a later call tries again.
 */
export function hearingModule(name: ModuleName): Promise<WebAssembly.Module> {
  const known = compiled.get(name);
  if (known !== undefined) return known;
  const compiling = readModule(name).then((bytes) => WebAssembly.compile(bytes));
  compiled.set(name, compiling);
  compiling.catch(() => compiled.delete(name));
  return compiling;
}
