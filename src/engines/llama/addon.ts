/** The part of llama.cpp's binding of node-llama-cpp that Parley uses. The operator installs it; Parley contains nothing of it. */
import { createRequire } from 'node:module';
import { dirname } from 'node:path';

export interface Addon {
  readonly AddonModel: new (
    path: string,
    options: { readonly addonExports: Addon; readonly gpuLayers: number; readonly useMmap: boolean },
  ) => Weights;
  readonly AddonContext: new (
    model: Weights,
    options: {
      /** Tokens of all sequences together. */
      readonly contextSize: number;
      readonly batchSize: number;
      readonly sequences: number;
      readonly threads: number;
    },
  ) => Context;
  readonly AddonSampler: new (model: Weights) => Sampler;
  readonly AddonJinjaRenderer: new (template: string) => { render(values: object): string };
  setLoggerLogLevel(level: number): void;
  /** @param folder with the libraries for each kind of processor. Default: those of the system */
  loadBackends(folder?: string): void;
  init(): Promise<void>;
}

export interface Weights {
  /** @returns whether the file could be used */
  init(): Promise<boolean>;
  tokenize(text: string, hasSpecialTokens: boolean): Uint32Array;
  detokenize(tokens: Uint32Array, showsSpecialTokens: boolean): string;
  getTokenString(token: number): string;
  tokenBos(): number;
  tokenEos(): number;
  shouldPrependBosToken(): boolean;
  /** Whether the token ends an answer. */
  isEogToken(token: number): boolean;
}

/** A batch is filled, decoded and sampled from before the next one begins. */
export interface Context {
  init(): Promise<boolean>;
  initBatch(tokens: number): void;
  /** @param sampled places of the tokens after which one is sampled @returns their places in the batch */
  addToBatch(sequence: number, position: number, tokens: Uint32Array, sampled: Uint32Array): Uint32Array;
  decodeBatch(): Promise<void>;
  sampleToken(place: number, sampler: Sampler): Promise<number>;
  /** Forgets a sequence. */
  disposeSequence(sequence: number): void;
}

export interface Sampler {
  applyConfig(options: {
    readonly temperature: number;
    readonly topK: number;
    readonly topP: number;
    readonly minP: number;
    readonly seed: number;
    readonly repeatPenalty: number;
    readonly repeatPenaltyPresencePenalty: number;
    readonly repeatPenaltyFrequencyPenalty: number;
    readonly repeatPenaltyMaxTokens: number;
    /** The tokens that are repeated less. */
    readonly repeatPenaltyTokens: Uint32Array;
    readonly tokenBiasKeys: Uint32Array;
    readonly tokenBiasValues: Float32Array;
  }): void;
  dispose(): void;
}

const errorLevel = 2;

/** @param path of `llama-addon.node` */
export async function loadLlama(path: string): Promise<Addon> {
  const addon: Addon = createRequire(path)(path);
  addon.setLoggerLogLevel(errorLevel);
  addon.loadBackends();
  addon.loadBackends(dirname(path));
  await addon.init();
  return addon;
}
