import type { Batches } from '../../core/values/batches.ts';

/**
 * The batches of a source. While its first batch takes long, an empty batch comes now and then, so that the client is
 * told to wait. Then each call goes to the source itself, which costs nothing more for a batch.
 */
export function patientBatches<Part>(open: () => Promise<Batches<Part>>, everyMs: number): Batches<Part> {
  return { [Symbol.asyncIterator]: () => new PatientIterator(open, everyMs) };
}

type Step<Part> = IteratorResult<readonly Part[], void>;

class PatientIterator<Part> implements AsyncIterator<readonly Part[], void, void> {
  readonly #open: () => Promise<Batches<Part>>;
  readonly #everyMs: number;
  #source: AsyncIterator<readonly Part[]> | undefined;
  #first: Promise<Step<Part>> | undefined;
  #hasBegun = false;

  constructor(open: () => Promise<Batches<Part>>, everyMs: number) {
    this.#open = open;
    this.#everyMs = everyMs;
  }

  next(): Promise<Step<Part>> {
    return this.#hasBegun && this.#source ? this.#source.next() : this.#wait();
  }

  async return(): Promise<Step<Part>> {
    const close = () => this.#source?.return?.();
    if (this.#hasBegun) await close();
    // A source that has not begun ends by the signal of its request.
    else void this.#first?.then(close, () => undefined);
    return { value: undefined, done: true };
  }

  async #wait(): Promise<Step<Part>> {
    this.#first ??= this.#begin();
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(() => late.resolve(), this.#everyMs);
    try {
      const step = await Promise.race([this.#first, late.promise]);
      if (!step) return { value: [], done: false };
      this.#hasBegun = true;
      return step;
    } finally {
      clearTimeout(timer);
    }
  }

  async #begin(): Promise<Step<Part>> {
    this.#source = (await this.#open())[Symbol.asyncIterator]();
    return this.#source.next();
  }
}
