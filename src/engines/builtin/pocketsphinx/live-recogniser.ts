import { joinSamples } from '../../../core/entities/live.ts';
import type { WasmInstance } from '../../../media/wasm-instance.ts';
import { type RecognisedWord, readHypothesis } from './hypothesis.ts';
import { startRecogniser, step, withSamples } from './recogniser.ts';

/** The first words of an unknown voice wait for this much speech. With 0.5 s, 22 of 107 words are wrong, with 2 s 6. */
const primeSamples = 1.5 * 16_000;

/** Recognises turns while they are spoken. Blocks its thread. Do not use an instance for files after live speech. */
export class LiveRecogniser {
  readonly #instance: WasmInstance;
  /** The first samples of the turn, until they suffice to adapt to the voice; undefined once the utterance has begun. */
  #first: Int16Array[] | undefined;
  #firstSamples = 0;

  private constructor(instance: WasmInstance) {
    this.#instance = instance;
  }

  static async start(module: WebAssembly.Module, image: AsyncIterable<Uint8Array>): Promise<LiveRecogniser> {
    return new LiveRecogniser(await startRecogniser(module, image));
  }

  /** @param voice speech of the same person, if some is known */
  begin(voice: Int16Array | undefined): void {
    this.#first = [];
    this.#firstSamples = 0;
    if (voice !== undefined) this.#beginWith(voice);
  }

  feed(samples: Int16Array): void {
    if (this.#first === undefined) {
      this.#feed(samples);
      return;
    }
    this.#first.push(samples);
    this.#firstSamples += samples.length;
    if (this.#firstSamples >= primeSamples) this.#beginWithFirst(this.#first);
  }

  /** The words so far. */
  partial(): string {
    if (this.#first !== undefined) return '';
    // The dictionary has other pronunciations under names such as `the(2)`.
    return this.#instance.textAt(this.#instance.call('partial')).replace(/\(\d+\)/g, '');
  }

  finish(): RecognisedWord[] {
    if (this.#first !== undefined) this.#beginWithFirst(this.#first);
    step(this.#instance, 'finish');
    return readHypothesis(this.#instance.textAt(this.#instance.call('words')));
  }

  #beginWithFirst(first: readonly Int16Array[]): void {
    const all = joinSamples(first);
    this.#beginWith(all);
    if (all.length > 0) this.#feed(all);
  }

  #beginWith(voice: Int16Array): void {
    this.#first = undefined;
    withSamples(this.#instance, voice, (pointer) => step(this.#instance, 'prime', pointer, voice.length));
    step(this.#instance, 'begin');
  }

  #feed(samples: Int16Array): void {
    withSamples(this.#instance, samples, (pointer) =>
      step(this.#instance, 'feed', pointer, samples.length, 0),
    );
  }
}
