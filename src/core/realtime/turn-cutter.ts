/** Finds the turns in a stream of samples: by voice activity, or from one commit to the next. */
import { frameMs, joinSamples, liveSampleRate, type Samples, type VoiceDetector } from '../entities/live.ts';

/** How silence ends a turn, in milliseconds. */
export interface TurnDetection {
  /** Silence of this length ends a turn. */
  readonly silenceMs: number;
  /** Audio before the speech that belongs to its turn. */
  readonly prefixMs: number;
}

export type Cut =
  | { readonly kind: 'speech'; readonly atMs: number; readonly isManual: boolean }
  | { readonly kind: 'audio'; readonly samples: Samples; readonly atMs: number }
  | { readonly kind: 'silence'; readonly atMs: number };

const samplesPerMs = liveSampleRate / 1000;
const frameSamples = frameMs * samplesPerMs;
/** Speech begins after this duration, as a click is shorter. */
const onsetMs = 60;
/** Audio is passed on in parts of at most this length, so that a window can be reserved between them. */
const partMsMax = 1_000;

export class TurnCutter {
  readonly #detector: VoiceDetector;
  #detection: TurnDetection | undefined;
  #samples = 0;
  /** Samples of an incomplete frame. */
  #rest: Samples = new Int16Array(0);
  /** The frames before speech, at most as many as a turn begins with. */
  #before: Samples[] = [];
  #isSpeech = false;
  /** Consecutive milliseconds that contradict `#isSpeech`. */
  #againstMs = 0;
  /** Whether audio belongs to a turn that has failed, until the client commits or clears it. */
  #isSkipping = false;

  constructor(detector: VoiceDetector) {
    this.#detector = detector;
  }

  /** Milliseconds of audio so far. */
  get atMs(): number {
    return this.#samples / samplesPerMs;
  }

  /** From now on silence ends turns. Without `detection` only commits do. */
  detect(detection: TurnDetection | undefined): void {
    this.#detection = detection;
    this.restart();
    this.endSkip();
    this.#rest = new Int16Array(0);
  }

  /** Call when something other than silence has ended a turn. Speech must then begin again. */
  restart(): void {
    this.#before = [];
    this.#isSpeech = false;
    this.#againstMs = 0;
  }

  /** Drops the rest of a failed turn that the client will commit: otherwise each of its messages would be a turn. */
  skip(): void {
    this.#isSkipping = this.#detection === undefined;
  }

  /** Call when the client commits or clears. */
  endSkip(): void {
    this.#isSkipping = false;
  }

  /** The reader may call `restart` and `detect` between two cuts. */
  *cut(samples: Samples): Generator<Cut, void, void> {
    if (this.#detection === undefined) return yield* this.#cutManually(samples);
    const all = joinSamples([this.#rest, samples]);
    let at = 0;
    for (; at + frameSamples <= all.length; at += frameSamples) {
      this.#samples += frameSamples;
      yield* this.#cutFrame(all.slice(at, at + frameSamples));
    }
    this.#rest = all.slice(at);
  }

  *#cutManually(samples: Samples): Generator<Cut, void, void> {
    for (let at = 0; at < samples.length; at += partMsMax * samplesPerMs) {
      const part = samples.slice(at, at + partMsMax * samplesPerMs);
      if (!this.#isSkipping) yield { kind: 'speech', atMs: this.atMs, isManual: true };
      this.#samples += part.length;
      if (!this.#isSkipping) yield { kind: 'audio', samples: part, atMs: this.atMs };
    }
  }

  *#cutFrame(frame: Samples): Generator<Cut, void, void> {
    const { silenceMs, prefixMs } = this.#detection ?? { silenceMs: 0, prefixMs: 0 };
    const isAgainst = this.#detector.isSpeech(frame) !== this.#isSpeech;
    this.#againstMs = isAgainst ? this.#againstMs + frameMs : 0;
    if (this.#isSpeech) {
      yield { kind: 'audio', samples: frame, atMs: this.atMs };
      if (this.#againstMs < silenceMs) return;
      this.restart();
      yield { kind: 'silence', atMs: this.atMs - silenceMs };
      return;
    }
    this.#before.push(frame);
    if (this.#before.length * frameMs > prefixMs + onsetMs) this.#before.shift();
    if (this.#againstMs < onsetMs) return;
    const start = joinSamples(this.#before);
    this.restart();
    this.#isSpeech = true;
    yield { kind: 'speech', atMs: this.atMs - start.length / samplesPerMs, isManual: false };
    yield { kind: 'audio', samples: start, atMs: this.atMs };
  }
}
