import { WasmInstance } from '../../../media/wasm-instance.ts';
import { type RecognisedWord, readHypothesis } from './hypothesis.ts';

/** PocketSphinx with its English model, in WebAssembly: 90 MB. Blocks its thread, so use it in worker threads. */
export class Recogniser {
  readonly #instance: WasmInstance;

  private constructor(instance: WasmInstance) {
    this.#instance = instance;
  }

  static async start(module: WebAssembly.Module, image: AsyncIterable<Uint8Array>): Promise<Recogniser> {
    return new Recogniser(await startRecogniser(module, image));
  }

  /** The words of an utterance of 16 kHz mono samples. Throws if the recogniser fails. */
  recognise(samples: Int16Array): RecognisedWord[] {
    const instance = this.#instance;
    withSamples(instance, samples, (pointer) => {
      step(instance, 'begin');
      step(instance, 'feed', pointer, samples.length, 1);
      step(instance, 'finish');
    });
    return readHypothesis(instance.textAt(instance.call('words')));
  }
}

/** @param image the memory of an instance that has loaded the model, which starts ten times faster */
export async function startRecogniser(
  module: WebAssembly.Module,
  image: AsyncIterable<Uint8Array>,
): Promise<WasmInstance> {
  const instance = new WasmInstance(module);
  let filled = 0;
  for await (const part of image) {
    instance.growTo(filled + part.length);
    instance.bytes.set(part, filled);
    filled += part.length;
  }
  return instance;
}

/** Puts samples into the instance's memory while `use` runs. */
export function withSamples(
  instance: WasmInstance,
  samples: Int16Array,
  use: (pointer: number) => void,
): void {
  const pointer = instance.call('allocate', samples.byteLength);
  instance.bytes.set(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength), pointer);
  use(pointer);
  instance.call('release', pointer);
}

/** Calls a function of the recogniser. Throws if it fails. */
export function step(instance: WasmInstance, name: string, ...args: readonly number[]): void {
  const code = instance.call(name, ...args);
  if (code < 0) throw new Error(`the recogniser failed to ${name} with ${code}`);
}
