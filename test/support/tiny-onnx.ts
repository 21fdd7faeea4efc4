/**
 * Tiny ONNX models for sherpa-onnx: a voice that turns each letter into a tone of its own, and recognisers that turn the
 * tones into letters, one of whole utterances and one of streams. Real files for the real runtime, a few hundred
 * kilobytes.
 */
import { BinaryWriter } from '@bufbuild/protobuf/wire';

const letters = [...'abcdefghijklmnopqrstuvwxyz '];
const sampleRate = 16_000;
/** A tone and a short silence after it, which keeps equal letters apart. */
const [toneSamples, letterSamples] = [1_920, 2_880];
const melBins = 80;
/** Letters and the blank. */
const recogniserSize = letters.length + 1;

type Shape = readonly (number | string)[];
type Tensor =
  | { readonly shape: readonly number[]; readonly floats: Float32Array }
  | { readonly shape: readonly number[]; readonly longs: readonly number[] };

interface Graph {
  readonly nodes: readonly Uint8Array[];
  readonly inputs: readonly Uint8Array[];
  readonly outputs: readonly Uint8Array[];
  readonly tensors: Readonly<Record<string, Tensor>>;
  readonly metadata: Readonly<Record<string, string | number>>;
}

const floatType = 1;
const longType = 7;

/** A model that speaks: its input are the numbers of characters in `voiceTokens`, its output are samples. */
export function tinyVoice(metadata: Graph['metadata'] = voiceMetadata): Buffer {
  const tones = new Float32Array(voiceCharacters.length * letterSamples);
  for (const [at, character] of voiceCharacters.entries()) {
    // A sentence ends like a word, as nothing else separates it from the next.
    const letter = letters.indexOf(/[.,!?]/.test(character) ? ' ' : character);
    if (letter >= 0) tones.set(toneOf(letter), at * letterSamples);
  }
  return model({
    nodes: [
      node('Gather', ['tones', 'input'], ['parts'], [intAttribute('axis', 0)]),
      node('Reshape', ['parts', 'shape'], ['output']),
    ],
    inputs: [
      value('input', longType, [1, 'L']),
      value('input_lengths', longType, [1]),
      value('scales', floatType, [3]),
    ],
    outputs: [value('output', floatType, [1, 1, 'S'])],
    tensors: {
      tones: { shape: [voiceCharacters.length, letterSamples], floats: tones },
      shape: { shape: [3], longs: [1, 1, -1] },
    },
    metadata,
  });
}

/** A model that hears: its input are levels of mel bins, its output are probabilities of `recogniserTokens`. */
export function tinyRecogniser(): Buffer {
  return model({
    nodes: hearingNodes,
    inputs: [value('audio_signal', floatType, ['N', melBins, 'T']), value('length', longType, ['N'])],
    outputs: [value('logprobs', floatType, ['N', 'T2', recogniserSize])],
    tensors: hearingTensors(binOf),
    metadata: { ...hearingMetadata, vocab_size: recogniserSize, normalize_type: '' },
  });
}

/** A model that hears streams, in chunks of 320 ms. It carries states along, which it does not need. */
export function tinyStreamingRecogniser(): Buffer {
  const states = ['cache_last_channel', 'cache_last_time'];
  const shape = ['N', 1, 1, 1];
  return model({
    nodes: [
      ...hearingNodes,
      ...[...states, 'cache_last_channel_len', 'length'].map((name) =>
        node('Identity', [name], [`${name}_next`]),
      ),
    ],
    inputs: [
      value('audio_signal', floatType, ['N', melBins, 'T']),
      value('length', longType, ['N']),
      ...states.map((name) => value(name, floatType, shape)),
      value('cache_last_channel_len', longType, ['N']),
    ],
    outputs: [
      value('logprobs', floatType, ['N', 'T2', recogniserSize]),
      value('length_next', longType, ['N']),
      ...states.map((name) => value(`${name}_next`, floatType, shape)),
      value('cache_last_channel_len_next', longType, ['N']),
    ],
    tensors: hearingTensors(kaldiBinOf),
    metadata: {
      ...hearingMetadata,
      // Without the blank.
      vocab_size: recogniserSize - 1,
      window_size: 32,
      chunk_shift: 32,
      ...Object.fromEntries(states.flatMap((name) => [1, 2, 3].map((at) => [`${name}_dim${at}`, 1]))),
    },
  });
}

const hearingNodes = [
  node('Transpose', ['audio_signal'], ['frames'], [intsAttribute('perm', [0, 2, 1])]),
  node('Slice', ['frames', 'from', 'to', 'axis', 'step'], ['few']),
  node('MatMul', ['few', 'weights'], ['levels']),
  node('Add', ['levels', 'bias'], ['logits']),
  node('LogSoftmax', ['logits'], ['logprobs'], [intAttribute('axis', -1)]),
];

const hearingMetadata = { model_type: 'EncDecCTCModelBPE', subsampling_factor: 4, version: 1 };

/** @param bin the mel bin of each letter */
function hearingTensors(bin: (letter: number) => number): Graph['tensors'] {
  const weights = new Float32Array(melBins * recogniserSize);
  for (const [letter] of letters.entries()) weights[bin(letter) * recogniserSize + letter] = 1;
  // Blank wins where no bin is loud.
  const bias = new Float32Array(recogniserSize).fill(quietLevel, letters.length);
  return {
    from: { shape: [1], longs: [0] },
    to: { shape: [1], longs: [2 ** 40] },
    axis: { shape: [1], longs: [1] },
    step: { shape: [1], longs: [4] },
    weights: { shape: [melBins, recogniserSize], floats: weights },
    bias: { shape: [recogniserSize], floats: bias },
  };
}

const voiceCharacters = ['_', ...letters, ...".,!?'"];
export const voiceTokens = lines(voiceCharacters);
export const recogniserTokens = lines([...letters.slice(0, -1), '▁', '<blk>']);

export const voiceMetadata = {
  model_type: 'vits',
  comment: 'coqui',
  language: 'English',
  sample_rate: sampleRate,
  n_speakers: 0,
  add_blank: 0,
  frontend: 'characters',
  blank_id: 0,
  bos_id: 0,
  eos_id: 0,
  use_eos_bos: 0,
  pad_id: 0,
  punctuation: '.,!? ',
  version: 1,
};

/** Above the levels of silence, below those of tones. */
const quietLevel = 0;

/** The mel bin of a letter, far enough from those of its neighbours. */
function binOf(letter: number): number {
  return 14 + 2 * letter;
}

/** The middle of a mel bin in hertz, by the scale of Slaney: linear below 1,000 Hz, logarithmic above. */
function hertzOf(bin: number): number {
  const melMax = 15 + Math.log(8) / logStep;
  const mel = ((bin + 1) * melMax) / (melBins + 1);
  return mel < 15 ? (mel * 200) / 3 : 1_000 * Math.exp((mel - 15) * logStep);
}

const logStep = Math.log(6.4) / 27;

/** The bin that hears the tone of a letter by the scale of Kaldi, which streaming models use. */
function kaldiBinOf(letter: number): number {
  const mel = (hertz: number) => 1_127 * Math.log(1 + hertz / 700);
  const [low, high] = [mel(20), mel(sampleRate / 2 - 400)];
  return Math.round(((mel(hertzOf(binOf(letter))) - low) * (melBins + 1)) / (high - low)) - 1;
}

function toneOf(letter: number): Float32Array {
  const step = (2 * Math.PI * hertzOf(binOf(letter))) / sampleRate;
  return Float32Array.from({ length: toneSamples }, (_, at) => 0.3 * Math.sin(step * at));
}

function lines(symbols: readonly string[]): string {
  return symbols.map((symbol, at) => `${symbol} ${at}\n`).join('');
}

/** ONNX's ModelProto. The numbers are those of the fields in onnx.proto. */
function model({ nodes, inputs, outputs, tensors, metadata }: Graph): Buffer {
  const graph = new BinaryWriter();
  for (const bytes of nodes) graph.tag(1, 2).bytes(bytes);
  graph.tag(2, 2).string('tiny');
  for (const [name, tensor] of Object.entries(tensors)) graph.tag(5, 2).bytes(tensorOf(name, tensor));
  for (const bytes of inputs) graph.tag(11, 2).bytes(bytes);
  for (const bytes of outputs) graph.tag(12, 2).bytes(bytes);
  const whole = new BinaryWriter().tag(1, 0).int64(9).tag(7, 2).bytes(graph.finish());
  whole.tag(8, 2).bytes(new BinaryWriter().tag(1, 2).string('').tag(2, 0).int64(17).finish());
  for (const [key, text] of Object.entries(metadata)) {
    const entry = new BinaryWriter().tag(1, 2).string(key).tag(2, 2).string(String(text));
    whole.tag(14, 2).bytes(entry.finish());
  }
  return Buffer.from(whole.finish());
}

function node(
  type: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes: readonly Uint8Array[] = [],
): Uint8Array {
  const writer = new BinaryWriter();
  for (const name of inputs) writer.tag(1, 2).string(name);
  for (const name of outputs) writer.tag(2, 2).string(name);
  writer.tag(4, 2).string(type);
  for (const bytes of attributes) writer.tag(5, 2).bytes(bytes);
  return writer.finish();
}

function intAttribute(name: string, number: number): Uint8Array {
  return new BinaryWriter().tag(1, 2).string(name).tag(3, 0).int64(number).tag(20, 0).int32(2).finish();
}

function intsAttribute(name: string, numbers: readonly number[]): Uint8Array {
  const writer = new BinaryWriter().tag(1, 2).string(name);
  for (const number of numbers) writer.tag(8, 0).int64(number);
  return writer.tag(20, 0).int32(7).finish();
}

function tensorOf(name: string, tensor: Tensor): Uint8Array {
  const writer = new BinaryWriter();
  for (const size of tensor.shape) writer.tag(1, 0).int64(size);
  const isFloat = 'floats' in tensor;
  const numbers = isFloat ? tensor.floats : BigInt64Array.from(tensor.longs, BigInt);
  writer.tag(2, 0).int32(isFloat ? floatType : longType);
  writer.tag(8, 2).string(name);
  return writer.tag(9, 2).bytes(new Uint8Array(numbers.buffer)).finish();
}

function value(name: string, type: number, shape: Shape): Uint8Array {
  const dimensions = new BinaryWriter();
  for (const size of shape) {
    const dimension = new BinaryWriter();
    if (typeof size === 'number') dimension.tag(1, 0).int64(size);
    else dimension.tag(2, 2).string(size);
    dimensions.tag(1, 2).bytes(dimension.finish());
  }
  const tensor = new BinaryWriter().tag(1, 0).int32(type).tag(2, 2).bytes(dimensions.finish());
  const typed = new BinaryWriter().tag(1, 2).bytes(tensor.finish());
  return new BinaryWriter().tag(1, 2).string(name).tag(2, 2).bytes(typed.finish()).finish();
}
