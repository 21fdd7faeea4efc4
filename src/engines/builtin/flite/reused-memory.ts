import type { Constants } from './module.ts';

/**
 * Memory of an instance that runs more than once, restored before each run. The constants, nearly all of it, are never
 * copied. Memory only grows; the added part is filled with zeros, like new memory.
 */
export class ReusedMemory {
  readonly #memory: WebAssembly.Memory;
  readonly #constants: Constants;
  /** Copies of the memory before and after the constants. */
  readonly #before: Uint8Array;
  readonly #behind: Uint8Array;
  #isNew = true;

  constructor(memory: WebAssembly.Memory, constants: Constants) {
    this.#memory = memory;
    this.#constants = constants;
    this.#before = new Uint8Array(memory.buffer.slice(0, constants.start));
    this.#behind = new Uint8Array(memory.buffer.slice(constants.end));
  }

  /** Call before each run. */
  begin(): void {
    if (!this.#isNew) this.#restore();
    this.#isNew = false;
  }

  #restore(): void {
    const memory = new Uint8Array(this.#memory.buffer);
    const { end } = this.#constants;
    memory.set(this.#before);
    memory.set(this.#behind, end);
    memory.fill(0, end + this.#behind.length);
  }
}
