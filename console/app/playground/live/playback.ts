/** Plays speech as it arrives, and knows how much of it was heard. */
const rate = 24_000;

interface Part {
  readonly item: string;
  readonly source: AudioBufferSourceNode;
  readonly startSeconds: number;
  readonly seconds: number;
}

/** Speech that was stopped, and the milliseconds of it that were heard. */
export interface CutSpeech {
  readonly item: string;
  readonly heardMs: number;
}

export class Playback {
  readonly #context = new AudioContext();
  /** The parts of one item. */
  #parts: Part[] = [];
  #endSeconds = 0;
  #stopped: string | undefined;

  /** @param audio base64 of 16-bit samples at 24 kHz */
  add(item: string, audio: string): void {
    // Parts that were on their way when their speech was stopped.
    if (item === this.#stopped || audio === '') return;
    const samples = samplesOf(audio);
    const buffer = this.#context.createBuffer(1, samples.length, rate);
    buffer.copyToChannel(samples, 0);
    const source = this.#context.createBufferSource();
    source.buffer = buffer;
    source.connect(this.#context.destination);
    const startSeconds = Math.max(this.#context.currentTime, this.#endSeconds);
    source.start(startSeconds);
    this.#endSeconds = startSeconds + buffer.duration;
    if (this.#parts[0]?.item !== item) this.#parts = [];
    this.#parts.push({ item, source, startSeconds, seconds: buffer.duration });
  }

  /** Whether speech can be heard now. */
  get isPlaying(): boolean {
    return this.#context.currentTime < this.#endSeconds;
  }

  /** Stops at once. Undefined if nothing plays. */
  stop(): CutSpeech | undefined {
    const item = this.#parts[0]?.item;
    if (item === undefined || !this.isPlaying) return undefined;
    const now = this.#context.currentTime;
    const heard = this.#parts.reduce(
      (sum, { startSeconds, seconds }) => sum + Math.min(seconds, Math.max(0, now - startSeconds)),
      0,
    );
    for (const { source } of this.#parts) source.stop();
    this.#parts = [];
    this.#endSeconds = 0;
    this.#stopped = item;
    return { item, heardMs: Math.floor(heard * 1000) };
  }

  close(): void {
    void this.#context.close();
  }
}

function samplesOf(audio: string): Float32Array<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(audio), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float32Array.from(
    { length: bytes.length >> 1 },
    (_, index) => view.getInt16(2 * index, true) / 32_768,
  );
}
