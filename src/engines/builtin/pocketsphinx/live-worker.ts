/** Worker thread that recognises one turn of live speech at a time. A session is a turn, a task its next samples. */
import { joinSamples } from '../../../core/entities/live.ts';
import { readRecogniserImage } from '../../../media/hearing-files.ts';
import type { WasmInstance } from '../../../media/wasm-instance.ts';
import { serveTasks } from '../../../threads/serve-tasks.ts';
import { type RecognisedWord, readHypothesis } from './hypothesis.ts';
import { startRecogniser, step, withSamples } from './recogniser.ts';

/** The first words of an unknown voice wait for this much speech. With 0.5 s, 22 of 107 words are wrong, with 2 s 6. */
const primeSamples = 1.5 * 16_000;

/** Recognises turns while they are spoken. Blocks its thread. Do not use an instance for files after live speech. */
class LiveRecogniser {
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

export interface LiveTask {
  /** Given with the first task of a turn. */
  readonly begin?: { readonly module: WebAssembly.Module; readonly voice: Int16Array | undefined };
  readonly samples: Int16Array<ArrayBuffer>;
  /** Whether to return the words so far. */
  readonly isPartialWanted: boolean;
  /** Whether these are the turn's last samples. */
  readonly isLast: boolean;
}

export interface LiveResult {
  /** The words so far, if requested. */
  readonly partial: string | undefined;
  /** The words of the turn, after its last samples. */
  readonly words: readonly RecognisedWord[] | undefined;
}

let recogniser: Promise<LiveRecogniser> | undefined;
/** The turn that has begun and not ended. */
let openTurn: number | undefined;

serveTasks<LiveTask, LiveResult>({
  async run({ begin, samples, isPartialWanted, isLast }, turn) {
    if (begin) recogniser ??= LiveRecogniser.start(begin.module, readRecogniserImage());
    if (recogniser === undefined) throw new Error('the turn has not begun');
    const live = await recogniser;
    if (begin) live.begin(begin.voice);
    openTurn = turn;
    live.feed(samples);
    const partial = isPartialWanted ? live.partial() : undefined;
    if (!isLast) return { partial, words: undefined };
    openTurn = undefined;
    return { partial, words: live.finish() };
  },
  async close(turn) {
    if (openTurn !== turn) return;
    openTurn = undefined;
    (await recogniser)?.finish();
  },
});
