/** Answers of the servers that have an example configuration, in the forms of their sources and documentation. */

import type { ScriptedUpstream } from './scripted-upstream.ts';
import { eventText, json, whole } from './upstream-answers.ts';

type Json = Record<string, unknown>;

const usage = { prompt_tokens: 11, completion_tokens: 2, total_tokens: 13 };
const timings = { prompt_n: 11, prompt_ms: 12.5, predicted_n: 2, predicted_per_second: 61.2 };

/** The chunks of `Good morning.`; `extra` goes into every one of them. */
function chunks(
  model: string,
  { extra = {}, last = {} }: { readonly extra?: Json; readonly last?: Json } = {},
) {
  const head = { id: 'chatcmpl-7', object: 'chat.completion.chunk', created: 1_790_000_000, model, ...extra };
  const choice = (delta: Json, finish_reason: string | null = null) => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason }],
  });
  return [
    choice({ role: 'assistant', content: 'Good' }),
    choice({ content: ' morning.' }),
    choice({}, 'stop'),
    { ...head, choices: [], usage, ...last },
  ];
}

function streamed(values: readonly Json[]) {
  return eventText([...values.map((value) => `data: ${JSON.stringify(value)}\n\n`), 'data: [DONE]\n\n']);
}

const listed = (...ids: readonly string[]) =>
  json({ object: 'list', data: ids.map((id) => ({ id, object: 'model', created: 0, owned_by: 'x' })) });

/** A RIFF file of unknown length, as streaming servers send it, with a few samples. */
export const wav = Buffer.concat([
  Buffer.from(
    'RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0\xc0\x5d\0\0\x80\xbb\0\0\x02\0\x10\0data\xff\xff\xff\xff',
    'latin1',
  ),
  Buffer.alloc(4_800),
]);
const spoken = (type: string) => whole(wav, { headers: { 'content-type': type } });

const segment = { id: 0, seek: 0, start: 0.1, end: 0.9, text: ' Good morning.', tokens: [1], temperature: 0 };
const scores = { avg_logprob: -0.2, compression_ratio: 0.8, no_speech_prob: 0.01 };

/** Makes an upstream answer like the server of an example. */
export const servers = {
  openai: (upstream) => {
    upstream.answer('/models', listed('gpt-4.1-mini', 'gpt-4o-mini-tts', 'whisper-1'));
    const obfuscated = { service_tier: 'default', system_fingerprint: 'fp_1', obfuscation: 'aB3' };
    upstream.answer('/chat/completions', streamed(chunks('gpt-4.1-mini-2025-04-14', { extra: obfuscated })));
    upstream.answer('/audio/speech', spoken('audio/wav'));
    upstream.answer(
      '/audio/transcriptions',
      json({
        task: 'transcribe',
        language: 'english',
        duration: 1.0,
        text: 'Good morning.',
        segments: [{ ...segment, ...scores }],
        usage: { type: 'duration', seconds: 1 },
      }),
    );
  },
  vllm: (upstream) => {
    upstream.answer('/models', listed('qwen3-8b', 'openai/whisper-large-v3-turbo'));
    const thinking = chunks('qwen3-8b');
    const reasoning = { index: 0, delta: { reasoning: 'Hm.' }, logprobs: null, finish_reason: null };
    thinking.splice(1, 0, { ...thinking[1], choices: [reasoning] } as (typeof thinking)[number]);
    upstream.answer('/chat/completions', streamed(thinking));
    upstream.answer(
      '/audio/transcriptions',
      json({ duration: '1.0', language: 'en', text: 'Good morning.', segments: [{ ...segment, ...scores }] }),
    );
  },
  ollama: (upstream) => {
    upstream.answer('/models', listed('llama3.2:latest'));
    upstream.answer(
      '/chat/completions',
      streamed(chunks('llama3.2:latest', { extra: { system_fingerprint: 'fp_ollama' } })),
    );
  },
  'llama-cpp': (upstream) => {
    upstream.answer('/models', listed('qwen3-4b', 'voxtral'));
    const extra = { system_fingerprint: 'b6000-abc' };
    upstream.answer('/chat/completions', streamed(chunks('qwen3-4b', { extra, last: { timings } })));
    upstream.answer(
      '/audio/transcriptions',
      json({
        type: 'transcript.text.done',
        text: 'Good morning.',
        usage: { type: 'tokens', input_tokens: 90, output_tokens: 4, total_tokens: 94 },
      }),
    );
  },
  speaches: (upstream) => {
    const id = 'speaches-ai/Kokoro-82M-v1.0-ONNX';
    upstream.answer('/models', listed(id, 'Systran/faster-distil-whisper-small.en'));
    const voices = [
      { name: 'af_heart', language: 'en-us', gender: 'female', id: 'af_heart' },
      { name: 'bf_alice', language: 'en-gb', gender: 'female', id: 'bf_alice' },
    ];
    const model = {
      id,
      created: 0,
      object: 'model',
      owned_by: 'speaches-ai',
      language: ['en'],
      task: 'text-to-speech',
    };
    upstream.answer(
      '/models/speaches-ai/Kokoro-82M-v1.0-ONNX',
      json({ ...model, sample_rate: 24_000, voices }),
    );
    upstream.answer('/audio/speech', spoken('audio/wav'));
    const words = [
      { word: ' Good', start: 0.1, end: 0.4, probability: 0.9 },
      { word: ' morning.', start: 0.4, end: 0.9, probability: 0.9 },
    ];
    upstream.answer(
      '/audio/transcriptions',
      json({
        language: 'en',
        duration: 1,
        text: 'Good morning.',
        segments: [{ ...segment, ...scores, words }],
        words,
      }),
    );
  },
  'kokoro-fastapi': (upstream) => {
    upstream.answer('/models', listed('tts-1', 'tts-1-hd', 'kokoro', 'gpt-4o-mini-tts'));
    upstream.answer(
      '/models/kokoro',
      json({ id: 'kokoro', object: 'model', created: 1, owned_by: 'kokoro' }),
    );
    const ids = ['af_heart', 'bm_george'];
    upstream.answer('/audio/voices', json({ voices: ids.map((id) => ({ id, name: id })) }));
    upstream.answer('/audio/speech', spoken('audio/wav'));
  },
  localai: (upstream) => {
    upstream.answer('/models', listed('qwen3-4b', 'kokoro', 'whisper-base'));
    upstream.answer('/chat/completions', streamed(chunks('qwen3-4b')));
    upstream.answer('/audio/speech', spoken('audio/x-wav'));
    const words = [{ start: 0.1, end: 0.9, text: 'Good morning.' }];
    const { id, start, end, text } = segment;
    upstream.answer(
      '/audio/transcriptions',
      json({
        segments: [{ id, start, end, text, tokens: null, words }],
        words,
        text: 'Good morning.',
        language: 'en',
      }),
    );
  },
} satisfies Record<string, (upstream: ScriptedUpstream) => void>;
