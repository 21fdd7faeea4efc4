/** Finds the configuration of sherpa-onnx for a recogniser that hears speech while it is spoken. */
import { type ModelFiles, partsOf, type TypedFile, tokensOf, typedFiles } from './model-files.ts';

export interface StreamingConfig {
  /** For OnlineRecognizer. */
  readonly config: object;
  /** Silence after the speech, so that the model hears its last words. */
  readonly tailMs: number;
}

/** Metadata that only models of streams have: Zipformer, then NeMo. */
const chunkNames = ['decode_chunk_len', 'chunk_shift'] as const;
/** The frames that a model needs for a step: Zipformer, then NeMo. */
const windowNames = ['T', 'window_size'] as const;
/** Paraformer takes 61, and its metadata do not say so. */
const windowFramesDefault = 61;
const frameMs = 10;
/** Models write a word some time after its end. */
const delayMs = 200;

/**
 * Undefined for a model that hears whole utterances only.
 * @throws an error that names the file which cannot be used
 */
export function streamingConfig(model: ModelFiles, threads: number): StreamingConfig | undefined {
  const parts = partsOf(model);
  const main = typedFiles(model).find((file) => isOfStreams(file, parts));
  if (main === undefined) return undefined;
  const [windowName] = windowNames.filter((name) => main.metadata.has(name));
  const frames = windowName === undefined ? windowFramesDefault : Number(main.metadata.get(windowName));
  const modelConfig = { ...configOf(main, parts), tokens: tokensOf(model), numThreads: threads };
  return {
    config: { featConfig: { sampleRate: 16_000, featureDim: 80 }, modelConfig },
    tailMs: frames * frameMs + delayMs,
  };
}

/** Whether the model hears streams. False for a model that cannot be used at all. */
export function isStreaming(model: ModelFiles): boolean {
  try {
    return streamingConfig(model, 1) !== undefined;
  } catch {
    return false;
  }
}

type Parts = ReturnType<typeof partsOf>;

/** A Paraformer in two parts is one of streams. */
function isOfStreams({ metadata, type, path }: TypedFile, { encoder, decoder }: Parts): boolean {
  if (chunkNames.some((name) => metadata.has(name))) return true;
  return type.startsWith('paraformer') && path === encoder && decoder !== undefined;
}

function configOf({ path, metadata }: TypedFile, { encoder, decoder, joiner }: Parts): object {
  if (encoder === undefined || decoder === undefined) {
    return { [metadata.has('decode_chunk_len') ? 'zipformer2Ctc' : 'nemoCtc']: { model: path } };
  }
  return joiner === undefined
    ? { paraformer: { encoder, decoder } }
    : { transducer: { encoder, decoder, joiner } };
}
