/** A chat model of half a megabyte with random weights, in the shape of Qwen 2: llama.cpp loads and runs it. */
import { Random } from './random.ts';

/** Tokens of the model: a new line, the mark of a tool call, and the end of an answer. */
export const tinyTokens = { newLine: 10, toolCall: 316, end: 319 };
const [layers, width, heads, keyHeads, inner, words, context] = [2, 64, 4, 2, 128, 320, 2048];
const alignment = 32;
const types = { uint32: 4, int32: 5, float32: 6, boolean: 7, text: 8, list: 9 };
const float32Tensor = 0;

/** ChatML, with the tool calls of Qwen. */
const template = `{% if tools %}<|im_start|>system
<tools>
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}</tools><|im_end|>
{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.content %}{{ m.content }}{% endif %}{% for call in m.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;

/**
 * @param seed of the weights: files of different seeds have the same size
 * @param metadata of the header
 */
export function tinyGguf(seed: number, metadata = tinyMetadata): Buffer {
  const tensors = [...shapes()];
  const head: Buffer[] = [Buffer.from('GGUF'), uint32(3), uint64(tensors.length), uint64(metadata.length)];
  head.push(...metadata.map(([name, value]) => Buffer.concat([text(name), value])));
  let offset = 0;
  for (const { name, size } of tensors) {
    head.push(text(name), uint32(size.length), ...size.map(uint64), uint32(float32Tensor), uint64(offset));
    offset += padded(4 * elementsOf(size));
  }
  const random = new Random(seed);
  const start = Buffer.concat(head);
  const file = Buffer.alloc(padded(start.length) + offset);
  start.copy(file);
  let at = padded(start.length);
  for (const { size, kind } of tensors) {
    for (let index = 0; index < elementsOf(size); index++) {
      file.writeFloatLE(kind === 'weights' ? noise(random) : kind, at + 4 * index);
    }
    at += padded(4 * elementsOf(size));
  }
  return file;
}

interface Tensor {
  readonly name: string;
  readonly size: readonly number[];
  /** Random weights, or one value everywhere. */
  readonly kind: 'weights' | 0 | 1;
}

function* shapes(): Generator<Tensor> {
  const keys = (width / heads) * keyHeads;
  const weights = (name: string, ...size: number[]): Tensor => ({ name, size, kind: 'weights' });
  const all = (name: string, value: 0 | 1, size: number): Tensor => ({ name, size: [size], kind: value });
  yield weights('token_embd.weight', width, words);
  yield all('output_norm.weight', 1, width);
  for (let layer = 0; layer < layers; layer++) {
    const name = (part: string) => `blk.${layer}.${part}`;
    yield all(name('attn_norm.weight'), 1, width);
    yield all(name('ffn_norm.weight'), 1, width);
    yield weights(name('attn_q.weight'), width, width);
    yield weights(name('attn_k.weight'), width, keys);
    yield weights(name('attn_v.weight'), width, keys);
    yield weights(name('attn_output.weight'), width, width);
    yield all(name('attn_q.bias'), 0, width);
    yield all(name('attn_k.bias'), 0, keys);
    yield all(name('attn_v.bias'), 0, keys);
    yield weights(name('ffn_gate.weight'), width, inner);
    yield weights(name('ffn_up.weight'), width, inner);
    yield weights(name('ffn_down.weight'), inner, width);
  }
}

/** The 256 bytes as GPT-2 writes them, filler words, the mark of a tool call, and three special tokens. */
function tokens(): string[] {
  const plain = (byte: number) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173 && byte <= 255);
  let next = 256;
  const bytes = Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(plain(byte) ? byte : next++));
  const filler = Array.from({ length: words - 260 }, (_, index) => `Ġw${index}`);
  return [...bytes, ...filler, '<tool_call>', '<|endoftext|>', '<|im_start|>', '<|im_end|>'];
}

/** Normal words, one that the user has defined, and special ones. */
const kinds = [...Array.from({ length: words - 4 }, () => 1), 4, 3, 3, 3];

export const tinyMetadata: readonly (readonly [string, Buffer])[] = [
  ['general.architecture', textValue('qwen2')],
  ['general.name', textValue('tiny')],
  ['general.license', textValue('apache-2.0')],
  ['qwen2.context_length', numberValue(context)],
  ['qwen2.embedding_length', numberValue(width)],
  ['qwen2.block_count', numberValue(layers)],
  ['qwen2.feed_forward_length', numberValue(inner)],
  ['qwen2.attention.head_count', numberValue(heads)],
  ['qwen2.attention.head_count_kv', numberValue(keyHeads)],
  ['qwen2.attention.layer_norm_rms_epsilon', floatValue(1e-6)],
  ['qwen2.rope.freq_base', floatValue(1e6)],
  ['tokenizer.ggml.model', textValue('gpt2')],
  ['tokenizer.ggml.pre', textValue('qwen2')],
  ['tokenizer.ggml.tokens', listValue(types.text, tokens().map(text))],
  ['tokenizer.ggml.token_type', listValue(types.int32, kinds.map(uint32))],
  ['tokenizer.ggml.merges', listValue(types.text, ['Ġ w'].map(text))],
  ['tokenizer.ggml.bos_token_id', numberValue(words - 3)],
  ['tokenizer.ggml.padding_token_id', numberValue(words - 3)],
  ['tokenizer.ggml.eos_token_id', numberValue(words - 1)],
  ['tokenizer.ggml.add_bos_token', Buffer.concat([uint32(types.boolean), Buffer.from([0])])],
  ['tokenizer.chat_template', textValue(template)],
];

function textValue(value: string): Buffer {
  return Buffer.concat([uint32(types.text), text(value)]);
}

function numberValue(value: number): Buffer {
  return Buffer.concat([uint32(types.uint32), uint32(value)]);
}

function floatValue(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([uint32(types.float32), bytes]);
}

function listValue(type: number, items: readonly Buffer[]): Buffer {
  return Buffer.concat([uint32(types.list), uint32(type), uint64(items.length), ...items]);
}

function text(value: string): Buffer {
  return Buffer.concat([uint64(Buffer.byteLength(value)), Buffer.from(value)]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function padded(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}

function elementsOf(size: readonly number[]): number {
  return size.reduce((product, one) => product * one, 1);
}

/** From -0.1 to 0.1. */
function noise(random: Random): number {
  return (random.below(2_001) - 1_000) / 10_000;
}
