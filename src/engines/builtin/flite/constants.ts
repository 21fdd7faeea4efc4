/**
 * Where in its memory a module has what no run changes. A C program that is made for WebAssembly has two segments of data, and
 * the first is what it can only read (`.rodata`): of flite the voices, 17 MB.
 */
export interface Constants {
  /** Address of the first byte. */
  readonly start: number;
  /** Behind the last. */
  readonly end: number;
}

const dataSection = 11;
/** Magic number and version. */
const headerBytes = 8;
/** How a segment begins that lies in the only memory, and the instruction that gives its address. */
const [inMemory, i32Const] = [0, 0x41];

/** Of the first segment of data of a module. Throws where it begins in another way than compilers write it. */
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

  /** LEB128: seven bits a byte, the least first. */
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
