/**
 * Runs on the browser's audio thread: turns the microphone's sound into 16-bit samples at 24 kHz, in parts of 100 ms.
 * Firefox cannot open a microphone at another rate than its own, so the rate is converted here.
 */
const rate = 24_000;
const partSamples = rate / 10;
/** Zero crossings of the filter on each side. */
const crossings = 8;
/** Positions between two samples for which the filter is computed ahead. */
const phases = 64;

/** A windowed sinc that cuts off below half the lower of the two rates. */
function filterOf(/** @type {number} */ step) {
  const width = Math.max(1, step) / 0.92;
  const reach = Math.ceil(crossings * width);
  const kernels = Array.from({ length: phases }, (_, phase) => {
    const taps = Float32Array.from({ length: 2 * reach }, (_, tap) => {
      const at = (tap - reach + 1 - phase / phases) / width;
      const sinc = at === 0 ? 1 : Math.sin(Math.PI * at) / (Math.PI * at);
      return Math.abs(at) < crossings ? sinc * Math.cos((Math.PI * at) / (2 * crossings)) ** 2 : 0;
    });
    const sum = taps.reduce((all, tap) => all + tap, 0);
    return taps.map((tap) => tap / sum);
  });
  return { kernels, reach };
}

class Capture extends AudioWorkletProcessor {
  #step = sampleRate / rate;
  #filter = filterOf(sampleRate / rate);
  /** Samples that are not converted yet, and those before them that the filter needs. */
  #input = new Float32Array(2 * this.#filter.reach);
  /** Position of the next output in `#input`. */
  #at = this.#filter.reach;
  #part = new Int16Array(partSamples);
  #filled = 0;
  #peak = 0;

  /** @param {Float32Array[][]} inputs */
  process([[samples] = []]) {
    if (samples === undefined) return true;
    const { kernels, reach } = this.#filter;
    const input = new Float32Array(this.#input.length + samples.length);
    input.set(this.#input);
    input.set(samples, this.#input.length);
    for (; this.#at + reach + 1 < input.length; this.#at += this.#step) {
      const first = Math.floor(this.#at);
      const kernel = kernels[Math.floor((this.#at - first) * phases)];
      let sum = 0;
      for (let tap = 0; tap < kernel.length; tap++) sum += kernel[tap] * input[first - reach + 1 + tap];
      this.#add(Math.max(-1, Math.min(1, sum)));
    }
    const used = Math.floor(this.#at) - reach;
    this.#input = input.slice(used);
    this.#at -= used;
    return true;
  }

  #add(/** @type {number} */ sample) {
    this.#peak = Math.max(this.#peak, Math.abs(sample));
    this.#part[this.#filled++] = Math.round(sample * 32_767);
    if (this.#filled < partSamples) return;
    this.port.postMessage({ samples: this.#part, peak: this.#peak }, [this.#part.buffer]);
    this.#part = new Int16Array(partSamples);
    this.#filled = 0;
    this.#peak = 0;
  }
}

registerProcessor('capture', Capture);
