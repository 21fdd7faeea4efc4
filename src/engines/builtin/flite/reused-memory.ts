/** What is compared and put back at a time: a run of flite changes two of 260. */
const blockBytes = 65_536;

/**
 * The memory of an instance that runs more than once: each run finds what the first one found. Nearly all of it are
 * voices, which no run changes, and comparing them is faster than copying.
 *
 * It only grows. What it has grown by is zeros again, as new memory is.
 */
export class ReusedMemory {
  readonly #memory: WebAssembly.Memory;
  readonly #first: Buffer;
  #isNew = true;

  constructor(memory: WebAssembly.Memory) {
    this.#memory = memory;
    this.#first = Buffer.from(memory.buffer.slice());
  }

  /** To be called before each run. */
  begin(): void {
    if (!this.#isNew) this.#restore();
    this.#isNew = false;
  }

  #restore(): void {
    const first = this.#first;
    const now = Buffer.from(this.#memory.buffer);
    for (let start = 0; start < first.length; start += blockBytes) {
      const end = Math.min(start + blockBytes, first.length);
      if (now.compare(first, start, end, start, end) !== 0) first.copy(now, start, start, end);
    }
    now.fill(0, first.length);
  }
}
