/** Moonshine tiny for English: an encoder of samples, and a decoder that gives one token after the other. */
import { setFlagsFromString } from 'node:v8';
import { liveSampleRate } from '../../../core/entities/live.ts';
import { readMoonshine } from '../../../media/hearing-files.ts';
import { loadRuntime, type ModelSession, type Runtime, type Tensor, type Tensors } from './runtime-file.ts';

/** Nobody speaks faster. Shorter speech may have `tokensMin` tokens. */
const tokensPerSecond = 6.5;
const tokensMin = 8;
/** The encoder fails with fewer samples; silence is added. */
const samplesMin = 0.5 * liveSampleRate;

const beginToken = 1;
const endToken = 2;
const heads = 8;
const headSize = 36;

/** A loop repeats at most this many tokens, this often, and for this many tokens in all. */
const loopPeriodMax = 10;
const loopsMax = 4;
const loopTokensMin = 8;

/** Memory is taken as needed, not ahead. */
const sessionOptions = { executionProviders: ['wasm'], enableCpuMemArena: false, enableMemPattern: false };

export interface RecognisedText {
  /** Words with capitals and punctuation, separated by single spaces. */
  readonly text: string;
  /** Mean natural-log probability of the tokens. */
  readonly logProbability: number;
}

/**
 * V8 compiles a function of WebAssembly anew once it has run for a budget of bytes. One function of the runtime is so large that this takes
 * 7 s of CPU and 280 MB, and gains nothing: the higher budget is for the few functions that run most. V8's flag is for the whole
 * process, and counts when a module is compiled: other modules keep V8's own budget.
 */
const tieringBudget = { ofRuntime: 2 ** 31 - 1, ofV8: 13_000_000 };

/** Blocks its thread while it hears, so use it in worker threads: up to 250 MB each. */
export class Moonshine {
  readonly #runtime: Runtime;
  readonly #encoder: ModelSession;
  readonly #decoder: ModelSession;
  readonly #vocabulary: Vocabulary;
  readonly #pastNames: readonly string[];

  private constructor(
    runtime: Runtime,
    encoder: ModelSession,
    decoder: ModelSession,
    vocabulary: Vocabulary,
  ) {
    this.#runtime = runtime;
    this.#encoder = encoder;
    this.#decoder = decoder;
    this.#vocabulary = vocabulary;
    this.#pastNames = decoder.inputNames.filter((name) => name.startsWith('past_key_values.'));
  }

  static async start(): Promise<Moonshine> {
    const runtime = await loadRuntime();
    runtime.env.wasm.numThreads = 1;
    runtime.env.wasm.wasmBinary = await readMoonshine('ort.wasm');
    const { create } = runtime.InferenceSession;
    // The larger one first: the other then fits into the space that the first took only to load.
    const larger = await readMoonshine('decoder_model_merged.ort');
    setFlagsFromString(`--wasm-tiering-budget=${tieringBudget.ofRuntime}`);
    // The first session compiles the runtime.
    const decoder = await create(larger, sessionOptions).finally(() =>
      setFlagsFromString(`--wasm-tiering-budget=${tieringBudget.ofV8}`),
    );
    const encoder = await create(await readMoonshine('encoder_model.ort'), sessionOptions);
    runtime.env.wasm.wasmBinary = undefined;
    return new Moonshine(runtime, encoder, decoder, readVocabulary(await readMoonshine('tokenizer.bin')));
  }

  /** @param samples at most 30 s of 16 kHz mono, -1 to 1 */
  async hear(samples: Float32Array): Promise<RecognisedText> {
    const audio = padded(samples);
    const { Tensor } = this.#runtime;
    const mask = new Tensor('int64', new BigInt64Array(audio.length).fill(1n), [1, audio.length]);
    const kept: Tensors = {
      encoder_attention_mask: mask,
      encoder_hidden_states: await this.#encode(audio, mask),
    };
    const tokensMax = Math.max(tokensMin, Math.ceil((samples.length / liveSampleRate) * tokensPerSecond));
    let inputs: Tensors = { ...kept, ...this.#emptyPast() };
    let tokens: number[] = [];
    let sum = 0;
    let steps = 0;
    for (let token = beginToken; steps < tokensMax; ) {
      const next = { input_ids: this.#id(token), use_cache_branch: this.#flag(steps > 0) };
      const outputs = await this.#decoder.run({ ...inputs, ...next }, this.#outputs(steps > 0));
      const best = mostProbable(outputs['logits']);
      steps += 1;
      sum += best.logProbability;
      token = best.token;
      if (token === endToken) break;
      tokens.push(token);
      inputs = { ...inputs, ...asPast(outputs) };
      const once = withoutLoop(tokens);
      if (once === undefined) continue;
      tokens = once;
      break;
    }
    return { text: textOf(this.#vocabulary, tokens), logProbability: sum / steps };
  }

  async #encode(audio: Float32Array, mask: Tensor): Promise<Tensor> {
    const samples = new this.#runtime.Tensor('float32', audio, [1, audio.length]);
    const { last_hidden_state: hidden } = await this.#encoder.run({
      input_values: samples,
      attention_mask: mask,
    });
    if (hidden === undefined) throw new Error('the encoder gave no states');
    return hidden;
  }

  #id(token: number): Tensor {
    return new this.#runtime.Tensor('int64', BigInt64Array.of(BigInt(token)), [1, 1]);
  }

  #flag(value: boolean): Tensor {
    return new this.#runtime.Tensor('bool', Uint8Array.of(value ? 1 : 0), [1]);
  }

  /** The states of the encoder stay as in the first step. */
  #outputs(isLater: boolean): string[] {
    const past = this.#pastNames.filter((name) => !isLater || name.includes('.decoder.'));
    return ['logits', ...past.map((name) => name.replace('past_key_values', 'present'))];
  }

  #emptyPast(): Tensors {
    const { Tensor } = this.#runtime;
    const empty = () => new Tensor('float32', new Float32Array(0), [1, heads, 0, headSize]);
    return Object.fromEntries(this.#pastNames.map((name) => [name, empty()]));
  }
}

function padded(samples: Float32Array): Float32Array {
  if (samples.length >= samplesMin) return samples;
  const longer = new Float32Array(samplesMin);
  longer.set(samples);
  return longer;
}

function asPast(outputs: Tensors): Tensors {
  const states = Object.entries(outputs).filter(([name]) => name !== 'logits');
  return Object.fromEntries(
    states.map(([name, state]) => [name.replace('present', 'past_key_values'), state]),
  );
}

function mostProbable(logits: Tensor | undefined): {
  readonly token: number;
  readonly logProbability: number;
} {
  const values = logits?.data;
  if (!(values instanceof Float32Array)) throw new Error('the decoder gave no probabilities');
  let token = 0;
  for (let at = 1; at < values.length; at += 1) if ((values[at] ?? 0) > (values[token] ?? 0)) token = at;
  const best = values[token] ?? 0;
  const sum = values.reduce((total, value) => total + Math.exp(value - best), 0);
  return { token, logProbability: -Math.log(sum) };
}

/** The tokens with their end only once, if it repeats as in a decoder that finds no end; undefined otherwise. */
export function withoutLoop(tokens: readonly number[]): number[] | undefined {
  for (let period = 1; period <= loopPeriodMax; period += 1) {
    const repeated = period * Math.max(loopsMax, Math.ceil(loopTokensMin / period));
    const start = tokens.length - repeated;
    if (start < 0) continue;
    const isLoop = tokens.slice(start + period).every((token, at) => token === tokens[start + at]);
    if (isLoop) return tokens.slice(0, start + period);
  }
  return undefined;
}

/** Moonshine's vocabulary: each token is preceded by its length in one byte, or in two from 128 on. */

type Vocabulary = readonly Uint8Array[];

export function readVocabulary(bytes: Uint8Array): Vocabulary {
  const tokens: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at++] ?? 0;
    const length = first < 128 ? first : (bytes[at++] ?? 0) * 128 + first - 128;
    tokens.push(bytes.subarray(at, at + length));
    at += length;
  }
  return tokens;
}

/** The text of tokens. Characters may be spread over several tokens; `▁` stands for a space. */
export function textOf(vocabulary: Vocabulary, tokens: readonly number[]): string {
  const bytes = Buffer.concat(tokens.map((token) => vocabulary[token] ?? new Uint8Array(0)));
  return bytes.toString('utf8').replaceAll('▁', ' ').trim();
}
