import { readFlite } from './wasm-file.ts';

/** Compiled flite, and the place of its constants in memory. */
export interface FliteModule {
  readonly module: WebAssembly.Module;
  readonly constants: Constants;
}

/** Reads flite and compiles it: some 60 ms for 21 MB. Threads that compile the same bytes share the code in V8. */
export async function compileFlite(): Promise<FliteModule> {
  const wasm = await readFlite();
  return { module: await WebAssembly.compile(wasm), constants: constantsOf(wasm) };
}

/**
 * The read-only part of a module's memory. A C program compiled to WebAssembly has two data segments; the first is
 * `.rodata`. In flite it holds the voices, 17 MB.
 */
export interface Constants {
  /** Address of the first byte. */
  readonly start: number;
  /** Address after the last byte. */
  readonly end: number;
}

const dataSection = 11;
/** Magic number and version. */
const headerBytes = 8;
/** A segment starts with the number of its memory and the instruction that gives its address. */
const [inMemory, i32Const] = [0, 0x41];

/** The first data segment of a module. Throws if the segment does not have the form that compilers write. */
export function constantsOf(wasm: Uint8Array): Constants {
  const reader = new Reader(wasm, headerBytes);
  for (let id = reader.byte(); id !== dataSection; id = reader.byte()) reader.skip(reader.number());
  reader.number();
  const segments = reader.number();
  if (segments < 1 || reader.number() !== inMemory || reader.byte() !== i32Const) {
    throw new Error('the module does not begin its data with a segment of its memory');
  }
  const start = reader.number();
  reader.byte();
  return { start, end: start + reader.number() };
}

class Reader {
  readonly #bytes: Uint8Array;
  #at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new Error('the module has no data');
    return byte;
  }

  /** LEB128: seven bits a byte, the lowest first. */
  number(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }

  skip(bytes: number): void {
    this.#at += bytes;
  }
}
