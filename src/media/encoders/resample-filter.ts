/** The inner loop of the resampler: in WebAssembly with SIMD where set-up has built it, else in JavaScript. */
import { readExtra } from '../hearing-files.ts';
import { WasmInstance } from '../wasm-instance.ts';

export interface PolyphaseFilter {
  /** Output samples for every `down` input samples. */
  readonly up: number;
  readonly down: number;
  /** Taps of one phase; always even, half of them at or before the output's position. */
  readonly taps: number;
  /** `up` phases of `taps` coefficients each, one after the other. */
  readonly coefficients: Float32Array;
}

/** Returns `count` output samples, of which the first lies at the start of the window, in `phase`. */
export type RunFilter = (
  filter: PolyphaseFilter,
  window: Float32Array,
  phase: number,
  count: number,
) => Int16Array<ArrayBuffer>;

let fastest: RunFilter | undefined;

/** The fastest filter of this machine, loaded at the first use in a thread. */
export function fastestFilter(): RunFilter {
  if (fastest !== undefined) return fastest;
  const bytes = readExtra('resampler');
  fastest = bytes === undefined ? runInJavaScript : runInWebAssembly(new WebAssembly.Module(bytes));
  return fastest;
}

/** One instance serves all files of a thread: each call brings all that it needs. */
function runInWebAssembly(module: WebAssembly.Module): RunFilter {
  const instance = new WasmInstance(module);
  const coefficientsAt = instance.bytes.length;
  return ({ coefficients, taps, up, down }, window, phase, count) => {
    const windowAt = coefficientsAt + coefficients.byteLength;
    const outputAt = windowAt + window.byteLength;
    instance.growTo(outputAt + count * Int16Array.BYTES_PER_ELEMENT);
    instance.write(coefficients, coefficientsAt);
    instance.write(window, windowAt);
    instance.call('resample', windowAt, coefficientsAt, taps, up, down, phase, outputAt, count);
    return instance.samplesAt(outputAt, count);
  };
}

export const runInJavaScript: RunFilter = (filter, window, firstPhase, count) => {
  const { up, down } = filter;
  const output = new Int16Array(count);
  let position = 0;
  let phase = firstPhase;
  for (let index = 0; index < count; index += 1) {
    output[index] = toInt16(dot(filter, window, position, phase));
    phase += down;
    position += Math.floor(phase / up);
    phase %= up;
  }
  return output;
};

function dot(
  { taps, coefficients }: PolyphaseFilter,
  window: Float32Array,
  position: number,
  phase: number,
): number {
  const row = phase * taps;
  let sum = 0;
  for (let tap = 0; tap < taps; tap += 1) {
    sum += (window[position + tap] ?? 0) * (coefficients[row + tap] ?? 0);
  }
  return sum;
}

function toInt16(value: number): number {
  return Math.max(-32_768, Math.min(32_767, Math.round(value)));
}
