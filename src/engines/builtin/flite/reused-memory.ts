import type { Constants } from './constants.ts';

/**
 * The memory of an instance that runs more than once: each run finds what the first one found. What no run changes is left
 * as it is, which is nearly all.
 *
 * It only grows. What it has grown by is zeros again, as new memory is.
 */
export class ReusedMemory {
  readonly #memory: WebAssembly.Memory;
  readonly #constants: Constants;
  /** What lay before the constants, and behind them. */
  readonly #before: Uint8Array;
  readonly #behind: Uint8Array;
  #isNew = true;

  constructor(memory: WebAssembly.Memory, constants: Constants) {
    this.#memory = memory;
    this.#constants = constants;
    this.#before = new Uint8Array(memory.buffer.slice(0, constants.start));
    this.#behind = new Uint8Array(memory.buffer.slice(constants.end));
  }

  /** To be called before each run. */
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
