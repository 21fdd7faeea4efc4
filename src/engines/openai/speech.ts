import type { SpeechEngine, SpeechOutput, SpeechRequest } from '../../core/ports/engines.ts';
import { contentType } from '../../core/speech/content-type.ts';
import { createAudioLength } from '../speech-length.ts';
import { checkedAudio } from './speech-audio.ts';
import type { Upstream } from './upstream.ts';
import type { VoiceSource } from './voices.ts';

export interface OpenAiSpeechDeps {
  readonly upstream: Upstream;
  /** The upstream's name of the model. */
  readonly model: string;
  readonly voices: VoiceSource;
}

/**
 * Speech of an upstream, relayed byte by byte as it comes. Its audio rejects with `upstream_error` where the upstream fails,
 * breaks off, or sends what is not audio of the format.
 */
export function createOpenAiSpeech(deps: OpenAiSpeechDeps): SpeechEngine {
  return {
    availability: () => deps.voices.availability(),
    voices: () => deps.voices.list(),
    // What a model can say is its own affair.
    check: () => undefined,
    synthesize: (request, signal) => synthesize(deps, request, signal),
  };
}

/** The upstream is sent the four fields of the contract and no other. */
function synthesize(
  { upstream, model }: OpenAiSpeechDeps,
  { input, voice, format }: SpeechRequest,
  signal: AbortSignal,
): SpeechOutput {
  const length = createAudioLength(format);
  async function* audio(): AsyncGenerator<Uint8Array> {
    const answer = await upstream.call({
      method: 'POST',
      path: '/audio/speech',
      headers: {
        'content-type': 'application/json',
        accept: `${contentType(format)}, audio/*, application/octet-stream`,
      },
      body: JSON.stringify({ model, input, voice, response_format: format }),
      signal,
    });
    for await (const bytes of checkedAudio(answer, format)) {
      length.add(bytes);
      yield bytes;
    }
  }
  return { audio: audio(), durationMs: () => length.ms() };
}
