import { WasmInstance } from '../../../media/wasm-instance.ts';
import { type RecognisedWord, readHypothesis } from './hypothesis.ts';

/** PocketSphinx with its English model, in WebAssembly: 90 MB. Blocks its thread, so use it in worker threads. */
export class Recogniser {
  readonly #instance: WasmInstance;

  private constructor(instance: WasmInstance) {
    this.#instance = instance;
  }

  /** @param image the memory of an instance that has loaded the model, which starts ten times faster */
  static async start(module: WebAssembly.Module, image: AsyncIterable<Uint8Array>): Promise<Recogniser> {
    const instance = new WasmInstance(module);
    let filled = 0;
    for await (const part of image) {
      instance.growTo(filled + part.length);
      instance.bytes.set(part, filled);
      filled += part.length;
    }
    return new Recogniser(instance);
  }

  /** The words of an utterance of 16 kHz mono samples. Throws if the recogniser fails. */
  recognise(samples: Int16Array): RecognisedWord[] {
    const pointer = this.#instance.call('allocate', samples.byteLength);
    this.#instance.bytes.set(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength), pointer);
    this.#step('begin');
    this.#step('feed', pointer, samples.length, 1);
    this.#step('finish');
    this.#instance.call('release', pointer);
    return readHypothesis(this.#instance.textAt(this.#instance.call('words')));
  }

  #step(name: string, ...args: readonly number[]): void {
    const code = this.#instance.call(name, ...args);
    if (code < 0) throw new Error(`the recogniser failed to ${name} with ${code}`);
  }
}
