/** Generates text with llama.cpp: several answers in turns, each in a sequence of its own. */
import { contextLengthExceeded } from '../../core/values/errors.ts';
import { OneAtATime } from '../model-server.ts';
import type { Addon, Context, Sampler, Weights } from './addon.ts';

export interface GenerationOptions {
  /** Default: until the context is full. */
  readonly tokensMax: number | undefined;
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly seed: number;
  readonly repeatPenalty: number;
  readonly presencePenalty: number;
  readonly frequencyPenalty: number;
  /** Tokens with what is added to their logits. */
  readonly biases: readonly (readonly [token: number, bias: number])[];
  /** The answer ends before any of these texts. */
  readonly stops: readonly string[];
}

interface GeneratorSettings {
  readonly path: string;
  /** Tokens of prompt and answer together. */
  readonly contextTokens: number;
  readonly callsMax: number;
  readonly threads: number;
}

/** Tokens of a prompt that are read in one step: an abort ends the work after a step. */
const batchTokens = 256;
/** The tokens that are repeated less. */
const penalisedTokens = 64;

/** A part of an answer; the last one has the reason of the end. */
export interface Generated {
  readonly text: string;
  /** The number of tokens that the answer has so far. */
  readonly tokens: number;
  readonly finish?: 'stop' | 'length';
}

export class Generator {
  readonly #weights: Weights;
  readonly #context: Context;
  readonly #addon: Addon;
  readonly #contextTokens: number;
  readonly #sequences: FreeSequences;
  readonly #steps = new OneAtATime();

  private constructor(addon: Addon, weights: Weights, context: Context, settings: GeneratorSettings) {
    this.#addon = addon;
    this.#weights = weights;
    this.#context = context;
    this.#contextTokens = settings.contextTokens;
    this.#sequences = new FreeSequences(settings.callsMax);
  }

  /** @throws Error if llama.cpp cannot use the file */
  static async open(addon: Addon, settings: GeneratorSettings): Promise<Generator> {
    const { path, contextTokens, callsMax, threads } = settings;
    const weights = new addon.AddonModel(path, { addonExports: addon, gpuLayers: 0, useMmap: true });
    if (!(await weights.init())) throw new Error('llama.cpp cannot load the model.');
    const contextSize = contextTokens * callsMax;
    const options = { contextSize, batchSize: batchTokens, sequences: callsMax, threads };
    const context = new addon.AddonContext(weights, options);
    if (!(await context.init())) throw new Error('llama.cpp cannot make a context for the model.');
    return new Generator(addon, weights, context, settings);
  }

  /** The texts of the tokens that begin a prompt and end an answer, for chat templates. */
  get marks() {
    const weights = this.#weights;
    const textOf = (token: number) => (token < 0 ? '' : weights.getTokenString(token));
    return { bos_token: textOf(weights.tokenBos()), eos_token: textOf(weights.tokenEos()) };
  }

  /** @throws `context_length_exceeded` */
  tokensOf(prompt: string): Uint32Array {
    const tokens = this.#weights.tokenize(prompt, true);
    const bos = this.#weights.tokenBos();
    const isMarked = !this.#weights.shouldPrependBosToken() || tokens[0] === bos;
    const all = isMarked ? tokens : Uint32Array.from([bos, ...tokens]);
    if (all.length < this.#contextTokens) return all;
    throw contextLengthExceeded({ prompt: all.length, maximum: this.#contextTokens });
  }

  /** @throws the signal's reason */
  async *generate(prompt: Uint32Array, options: GenerationOptions, signal: AbortSignal) {
    const sequence = await this.#sequences.take();
    const sampler = new this.#addon.AddonSampler(this.#weights);
    try {
      yield* this.#generate({ sequence, sampler, prompt, options, signal });
    } finally {
      // A step that still runs uses both.
      await this.#steps.run(async () => {
        sampler.dispose();
        this.#context.disposeSequence(sequence);
      });
      this.#sequences.giveBack(sequence);
    }
  }

  async *#generate(answer: Answer): AsyncGenerator<Generated, void, void> {
    const { prompt, options, signal } = answer;
    const tokensMax = Math.min(options.tokensMax ?? Infinity, this.#contextTokens - prompt.length);
    const text = new AnswerText(this.#weights, options.stops);
    const tokens: number[] = [];
    let token = await this.#read(answer, tokens);
    while (tokens.length < tokensMax) {
      // The mark of the end is a token of the answer.
      tokens.push(token);
      if (this.#weights.isEogToken(token)) break;
      const part = text.add(token);
      if (part !== '') yield { text: part, tokens: tokens.length };
      if (text.isOver || tokens.length === tokensMax) break;
      token = await this.#step(answer, Uint32Array.of(token), prompt.length + tokens.length - 1, tokens);
      signal.throwIfAborted();
    }
    const last = tokens.at(-1);
    const isStopped = text.isOver || (last !== undefined && this.#weights.isEogToken(last));
    yield { text: text.rest(), tokens: tokens.length, finish: isStopped ? 'stop' : 'length' };
  }

  /** Reads the prompt. @returns the first token of the answer */
  async #read(answer: Answer, tokens: readonly number[]): Promise<number> {
    const { prompt, signal } = answer;
    let token = 0;
    for (let at = 0; at < prompt.length; at += batchTokens) {
      signal.throwIfAborted();
      token = await this.#step(answer, prompt.subarray(at, at + batchTokens), at, tokens);
    }
    return token;
  }

  /** @returns the token that follows, if these are the last of what is there */
  #step(
    { sequence, sampler, prompt, options }: Answer,
    read: Uint32Array,
    at: number,
    tokens: readonly number[],
  ) {
    const isLast = at + read.length >= prompt.length;
    return this.#steps.run(async () => {
      this.#context.initBatch(read.length);
      const sampled = isLast ? Uint32Array.of(read.length - 1) : new Uint32Array();
      const [place] = this.#context.addToBatch(sequence, at, read, sampled);
      await this.#context.decodeBatch();
      if (place === undefined) return 0;
      sampler.applyConfig(samplerOptions(options, tokens));
      return this.#context.sampleToken(place, sampler);
    });
  }
}

interface Answer {
  readonly sequence: number;
  readonly sampler: Sampler;
  readonly prompt: Uint32Array;
  readonly options: GenerationOptions;
  readonly signal: AbortSignal;
}

function samplerOptions(options: GenerationOptions, tokens: readonly number[]) {
  const { tokensMax: _, stops: __, biases, presencePenalty, frequencyPenalty, ...shared } = options;
  return {
    ...shared,
    repeatPenaltyPresencePenalty: presencePenalty,
    repeatPenaltyFrequencyPenalty: frequencyPenalty,
    repeatPenaltyMaxTokens: penalisedTokens,
    repeatPenaltyTokens: Uint32Array.from(tokens.slice(-penalisedTokens)),
    tokenBiasKeys: Uint32Array.from(biases, ([token]) => token),
    tokenBiasValues: Float32Array.from(biases, ([, bias]) => bias),
  };
}

/** The numbers of sequences that no answer uses. */
class FreeSequences {
  readonly #free: number[];
  readonly #waiting: ((sequence: number) => void)[] = [];

  constructor(count: number) {
    this.#free = Array.from({ length: count }, (_, sequence) => sequence);
  }

  take(): Promise<number> {
    const free = this.#free.pop();
    return free === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve(free);
  }

  giveBack(sequence: number): void {
    const next = this.#waiting.shift();
    if (next) next(sequence);
    else this.#free.push(sequence);
  }
}

/** Tokens whose text decides how the next ones are written. */
const surroundingTokens = 8;

/** The text of an answer as it grows: whole characters, and nothing that may begin a stop. */
class AnswerText {
  readonly #weights: Weights;
  readonly #stops: readonly string[];
  readonly #tokens: number[] = [];
  /** Tokens whose text was taken. */
  #taken = 0;
  #held = '';
  isOver = false;

  constructor(weights: Weights, stops: readonly string[]) {
    this.#weights = weights;
    this.#stops = stops.filter((stop) => stop !== '');
  }

  /** @returns the text that is certain */
  add(token: number): string {
    this.#tokens.push(token);
    const from = Math.max(0, this.#taken - surroundingTokens);
    const [before, all] = [this.#textOf(from, this.#taken), this.#textOf(from)];
    // A character may have several tokens.
    if (all.endsWith('\uFFFD')) return '';
    this.#taken = this.#tokens.length;
    this.#held += all.slice(before.length);
    const ends = this.#stops.map((stop) => this.#held.indexOf(stop)).filter((at) => at >= 0);
    this.isOver = ends.length > 0;
    const length = this.isOver ? Math.min(...ends) : this.#certainLength();
    const certain = this.#held.slice(0, length);
    this.#held = this.isOver ? '' : this.#held.slice(length);
    return certain;
  }

  /** The text that was held back. */
  rest(): string {
    return this.#held;
  }

  #certainLength(): number {
    const longest = Math.max(0, ...this.#stops.map(({ length }) => length - 1));
    for (let at = Math.max(0, this.#held.length - longest); at < this.#held.length; at++) {
      if (this.#stops.some((stop) => stop.startsWith(this.#held.slice(at)))) return at;
    }
    return this.#held.length;
  }

  #textOf(from: number, to?: number): string {
    return this.#weights.detokenize(Uint32Array.from(this.#tokens.slice(from, to)), false);
  }
}
